import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getPolicy, putPolicy } from './policy.contract.ts';
import { AgentPolicies } from './policy.service.ts';

@Controller()
export class PolicyController {
  constructor(@Inject(AgentPolicies) private readonly policies: AgentPolicies) {}

  @Handles(getPolicy) get(ctx: OpContext, input: In<typeof getPolicy>) {
    return this.policies.get(ctx, input);
  }
  @Handles(putPolicy) put(ctx: OpContext, input: In<typeof putPolicy>) {
    return this.policies.put(ctx, input);
  }
}
