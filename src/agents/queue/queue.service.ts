import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import { queueView } from './queue-view.policy.ts';
import type { getQueue, pauseQueue } from './queue.contract.ts';
import { findQueue, measureQueue, setQueue, type QueueMode } from './queue.store.ts';

/** Whether an agent takes runs and hands them out. Nothing that is claimed or running is touched, and no clock stops. */
@Injectable()
export class AgentQueues {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Bus) private readonly bus: Bus,
  ) {}

  async get(ctx: OpContext, { agent_id }: In<typeof getQueue>): Promise<Out<typeof getQueue>> {
    const agentId = await this.agents.require(ctx, agent_id);
    return queueView(await findQueue(ctx, agentId), await measureQueue(ctx, agentId));
  }

  /** A repeat changes nothing: since when, by whom and why stay those of the first. */
  async change(
    ctx: OpContext,
    { agent_id, reason }: In<typeof pauseQueue>,
    state: QueueMode,
  ): Promise<Out<typeof pauseQueue>> {
    const agentId = await this.agents.lock(ctx, agent_id);
    const before = await findQueue(ctx, agentId);
    const isChange = before.state !== state;
    const after = isChange ? await setQueue(ctx, agentId, { state, reason: reason ?? null }) : before;
    ctx.note({ agent_id: agentId, reason: reason ?? null, before: before.state, after: state, changed: isChange });
    if (isChange) ctx.afterCommit(() => this.bus.poke('agent.work', accountKey(ctx.actor.accountId, agentId)));
    return queueView(after, await measureQueue(ctx, agentId));
  }
}
