import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { Acting } from './acting.service.ts';
import * as contract from './sessions.contract.ts';

@Controller()
export class SessionsController {
  constructor(@Inject(Acting) private readonly acting: Acting) {}

  @Handles(contract.listSessions) list(ctx: OpContext) {
    return this.acting.list(ctx);
  }
  @Handles(contract.endAllSessions) endAll(ctx: OpContext, input: In<typeof contract.endAllSessions>) {
    return this.acting.endAll(ctx, input);
  }
  @Handles(contract.listAccountOptions) accounts(ctx: OpContext, input: In<typeof contract.listAccountOptions>) {
    return this.acting.accounts(ctx, input);
  }
  @Handles(contract.switchAccount) switch(ctx: OpContext, input: In<typeof contract.switchAccount>) {
    return this.acting.switch(ctx, input);
  }
  @Handles(contract.impersonate) impersonate(ctx: OpContext, input: In<typeof contract.impersonate>) {
    return this.acting.impersonate(ctx, input);
  }
  @Handles(contract.stopImpersonation) stop(ctx: OpContext) {
    return this.acting.stop(ctx);
  }
  @Handles(contract.listImpersonations) impersonations(ctx: OpContext) {
    return this.acting.impersonations(ctx);
  }
  @Handles(contract.revokeImpersonation) revoke(ctx: OpContext, input: In<typeof contract.revokeImpersonation>) {
    return this.acting.revoke(ctx, input);
  }
}
