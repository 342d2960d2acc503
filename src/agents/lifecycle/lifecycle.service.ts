import { Inject, Injectable } from '@nestjs/common';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import type { archiveAgent, enableAgent } from './lifecycle.contract.ts';
import { awaitOrders, setArchived, setEnabled } from './lifecycle.store.ts';

type AgentView = Out<typeof archiveAgent>;

/** Whether an agent takes runs, and of whom. What it has accepted goes on in any case, and its workers come and go as before. */
@Injectable()
export class AgentLifecycle {
  constructor(@Inject(AgentRegistry) private readonly agents: AgentRegistry) {}

  async enable(ctx: OpContext, { agent_id }: In<typeof enableAgent>, isEnabled: boolean): Promise<AgentView> {
    const agentId = await this.agents.lock(ctx, agent_id);
    ctx.note({ agent_id: agentId, changed: await setEnabled(ctx, agentId, isEnabled) });
    return this.agents.show(ctx, { agent_id: agentId });
  }

  /** Repeated, it waits again: the answer to the first call may have been lost before those who came earlier were done. */
  async archive(ctx: OpContext, { agent_id }: In<typeof archiveAgent>): Promise<Later<AgentView>> {
    const agentId = await this.agents.lock(ctx, agent_id);
    ctx.note({ agent_id: agentId, changed: await setArchived(ctx, agentId, true) });
    const shown = await this.agents.show(ctx, { agent_id: agentId });
    return later(async () => {
      await ctx.briefly((inner) => awaitOrders(inner, agentId));
      return shown;
    });
  }

  async unarchive(ctx: OpContext, { agent_id }: In<typeof archiveAgent>): Promise<AgentView> {
    const agentId = await this.agents.lock(ctx, agent_id);
    ctx.note({ agent_id: agentId, changed: await setArchived(ctx, agentId, false) });
    return this.agents.show(ctx, { agent_id: agentId });
  }
}
