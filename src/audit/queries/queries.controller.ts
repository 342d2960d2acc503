import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { listAudit } from './queries.contract.ts';
import { AuditQueries } from './queries.service.ts';

@Controller()
export class AuditController {
  constructor(@Inject(AuditQueries) private readonly queries: AuditQueries) {}

  @Handles(listAudit) list(ctx: OpContext, input: In<typeof listAudit>) {
    return this.queries.list(ctx, input);
  }
}
