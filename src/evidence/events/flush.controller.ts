import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { flushEvents } from './flush.contract.ts';
import { Flushes } from './flush.service.ts';

@Controller()
export class FlushController {
  constructor(@Inject(Flushes) private readonly flushes: Flushes) {}

  @Handles(flushEvents) flush(ctx: OpContext, input: In<typeof flushEvents>) {
    return this.flushes.take(ctx, input);
  }
}
