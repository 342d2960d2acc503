import { Inject, Injectable } from '@nestjs/common';
import { WorkerTokens } from '../../identity/index.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import type { createDraft, updateDraft } from './drafts.contract.ts';
import { AgentLive } from './drafts.faults.ts';
import { insertDraft, isDraft, setDraft } from './drafts.store.ts';

/** Agents that somebody describes before a worker does. The first registration makes the very same row a live agent. */
@Injectable()
export class AgentDrafts {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(WorkerTokens) private readonly tokens: WorkerTokens,
  ) {}

  /**
   * Repeated, it changes nothing: what was typed since the first call is not put back.
   * @throws Fault 409 `agent.live`.
   */
  async create(ctx: OpContext, input: In<typeof createDraft>): Promise<Out<typeof createDraft>> {
    const { agent_id, config = {}, display_name: name } = input;
    const { agentId, handle } = await this.tokens.reserve(ctx, agent_id);
    const isNew = await insertDraft(ctx, { agentId, handle, name, config });
    await this.assertNotLive(ctx, agentId);
    ctx.note({ target_id: agentId, handle, changed: isNew });
    return this.agents.show(ctx, { agent_id: agentId });
  }

  /** @throws Fault 409 `agent.live`. */
  async update(ctx: OpContext, input: In<typeof updateDraft>): Promise<Out<typeof updateDraft>> {
    const { config = null, display_name: name = null } = input;
    const agentId = await this.agents.require(ctx, input.agent_id);
    if (!(await setDraft(ctx, agentId, { name, config }))) throw AgentLive();
    ctx.note({ agent_id: agentId, config: config !== null, display_name: name !== null });
    return this.agents.show(ctx, { agent_id: agentId });
  }

  /** @throws Fault 409 `agent.live`. */
  async assertNotLive(ctx: OpContext, agentId: string): Promise<void> {
    if ((await isDraft(ctx, agentId)) === false) throw AgentLive();
  }
}
