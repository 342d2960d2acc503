import { Inject, Injectable } from '@nestjs/common';
import { invalid } from '../../platform/faults/faults.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import type { setAgentGroup, setAgentLabels } from './settings.contract.ts';
import { setOwnLabels } from './settings.store.ts';

type AgentView = Out<typeof setAgentLabels>;

/** What somebody gives an agent, draft or live. No manifest touches it. */
@Injectable()
export class AgentSettings {
  constructor(@Inject(AgentRegistry) private readonly agents: AgentRegistry) {}

  async label(ctx: OpContext, { agent_id, labels }: In<typeof setAgentLabels>): Promise<AgentView> {
    const agentId = await this.agents.lock(ctx, agent_id);
    const changed = labels ? await setOwnLabels(ctx, agentId, labels) : false;
    ctx.note({ agent_id: agentId, labels: labels ?? null, changed });
    return this.agents.show(ctx, { agent_id: agentId });
  }

  /** @throws Fault 422 for every group, as for any that does not exist. */
  async group(ctx: OpContext, { agent_id, mcp_group_id: group }: In<typeof setAgentGroup>): Promise<AgentView> {
    const agentId = await this.agents.lock(ctx, agent_id);
    if (group !== null) throw invalid(['body', 'mcp_group_id'], 'There is no such group', 'unknown_reference');
    ctx.note({ agent_id: agentId, group, changed: false });
    return this.agents.show(ctx, { agent_id: agentId });
  }
}
