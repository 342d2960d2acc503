import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import type { getPolicy, putPolicy } from './policy.contract.ts';
import { AgentPolicyChanged } from './policy.faults.ts';
import { findPolicy, replacePolicy } from './policy.store.ts';
import { ownTerms, policyView, termsOf } from './terms.policy.ts';

/** Under which terms an agent's runs are handed out. Whoever needs a term reads it then, so a change counts at once. */
@Injectable()
export class AgentPolicies {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async get(ctx: OpContext, { agent_id }: In<typeof getPolicy>): Promise<Out<typeof getPolicy>> {
    const agentId = await this.agents.require(ctx, agent_id);
    return policyView(agentId, await findPolicy(ctx, agentId), this.config);
  }

  /** @throws Fault 409 `agent_policy.changed` where another version is in force than the caller has seen. */
  async put(ctx: OpContext, input: In<typeof putPolicy>): Promise<Out<typeof putPolicy>> {
    const agentId = await this.agents.lock(ctx, input.agent_id);
    const before = await findPolicy(ctx, agentId);
    if (typeof input.base_version === 'number' && input.base_version !== before.version) throw AgentPolicyChanged();
    const after = await replacePolicy(ctx, agentId, termsOf(input));
    ctx.note({ agent_id: agentId, version: after.version, before: ownTerms(before), after: ownTerms(after) });
    // A limit may have gone that runs wait for.
    ctx.afterCommit(() => this.bus.poke('agent.work', accountKey(ctx.actor.accountId, agentId)));
    return policyView(agentId, after, this.config);
  }
}
