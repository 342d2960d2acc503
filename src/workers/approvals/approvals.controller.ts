import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { requestApproval } from './approvals.contract.ts';
import { WorkerApprovals } from './approvals.service.ts';

@Controller()
export class WorkerApprovalsController {
  constructor(@Inject(WorkerApprovals) private readonly approvals: WorkerApprovals) {}

  @Handles(requestApproval) ask(ctx: OpContext, input: In<typeof requestApproval>) {
    return this.approvals.ask(ctx, input);
  }
}
