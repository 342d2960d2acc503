import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import * as contract from './principals.contract.ts';
import { Principals } from './principals.service.ts';

@Controller()
export class PrincipalsController {
  constructor(@Inject(Principals) private readonly principals: Principals) {}

  @Handles(contract.listPrincipals) list(ctx: OpContext) {
    return this.principals.list(ctx);
  }
  @Handles(contract.listMembersOfAccess) members(ctx: OpContext) {
    return this.principals.members(ctx);
  }
  @Handles(contract.listServiceAccountsOfAccess) serviceAccounts(ctx: OpContext) {
    return this.principals.serviceAccounts(ctx);
  }
  @Handles(contract.listAgentsOfAccess) agents(ctx: OpContext) {
    return this.principals.agents(ctx);
  }
  @Handles(contract.putMemberRoles) memberRoles(ctx: OpContext, input: In<typeof contract.putMemberRoles>) {
    return this.principals.memberRoles(ctx, input);
  }
  @Handles(contract.putServiceAccountRoles) serviceAccountRoles(
    ctx: OpContext,
    input: In<typeof contract.putServiceAccountRoles>,
  ) {
    return this.principals.serviceAccountRoles(ctx, input);
  }
  @Handles(contract.putAgentRoles) agentRoles(ctx: OpContext, input: In<typeof contract.putAgentRoles>) {
    return this.principals.agentRoles(ctx, input);
  }
  @Handles(contract.putMemberAttributes) memberAttributes(
    ctx: OpContext,
    input: In<typeof contract.putMemberAttributes>,
  ) {
    return this.principals.memberAttributes(ctx, input);
  }
  @Handles(contract.putServiceAccountAttributes) serviceAccountAttributes(
    ctx: OpContext,
    input: In<typeof contract.putServiceAccountAttributes>,
  ) {
    return this.principals.serviceAccountAttributes(ctx, input);
  }
}
