import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { listLate } from './late.contract.ts';
import { LateRecords } from './late.service.ts';

@Controller()
export class LateController {
  constructor(@Inject(LateRecords) private readonly late: LateRecords) {}

  @Handles(listLate) list(ctx: OpContext, input: In<typeof listLate>) {
    return this.late.list(ctx, input);
  }
}
