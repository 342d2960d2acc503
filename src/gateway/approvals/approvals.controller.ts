import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { decideApproval, getApproval, listApprovals } from './approvals.contract.ts';
import { Approvals } from './approvals.service.ts';

@Controller()
export class ApprovalsController {
  constructor(@Inject(Approvals) private readonly approvals: Approvals) {}

  @Handles(listApprovals) list(ctx: OpContext, input: In<typeof listApprovals>) {
    return this.approvals.list(ctx, input);
  }
  @Handles(getApproval) get(ctx: OpContext, input: In<typeof getApproval>) {
    return this.approvals.get(ctx, input);
  }
  @Handles(decideApproval) decide(ctx: OpContext, input: In<typeof decideApproval>) {
    return this.approvals.decide(ctx, input);
  }
}
