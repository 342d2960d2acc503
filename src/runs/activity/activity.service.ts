import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry } from '../../agents/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { withinTime } from '../../platform/db/time-limit.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { ListTooSlow } from '../lifecycle/lifecycle.faults.ts';
import type { agentActivity, workspaceActivity } from './activity.contract.ts';
import {
  agentSummary,
  costlyView,
  currencyOf,
  datesOf,
  sumUp,
  type AgentActivity,
  type AgentGroups,
  type WorkspaceActivity,
} from './activity.policy.ts';
import { busiestAgents, costliestRuns, daysOfAgents, daysOfAll, lastRuns, modelsOfAgents } from './activity.store.ts';

/** Agents that a workspace's summary lists: their sums are of all agents. */
const LISTED_AGENTS = 100;
const COSTLIEST_RUNS = 10;

/**
 * What ran, how it went and what it cost, by day. It is read off one index, within a bounded time, and nothing is kept of it: so
 * it is what is true now. A run's cost is its usage at the end, so a running total counts once, as the last one.
 */
@Injectable()
export class RunActivity {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async ofAgent(
    ctx: OpContext,
    { agent_id, window_days: windowDays }: In<typeof agentActivity>,
  ): Promise<AgentActivity> {
    const agentId = await this.agents.require(ctx, agent_id);
    return withinTime(ctx, this.config.searchSeconds, ListTooSlow, async () => {
      const groups = await groupsOf(ctx, windowDays, [agentId]);
      const dates = datesOf(ctx.now, windowDays);
      return agentSummary(agentId, groupsOfAgent(groups, agentId), {
        windowDays,
        currency: currencyOf([...groups.days.values()].flat()),
        dates,
      });
    });
  }

  async ofWorkspace(
    ctx: OpContext,
    { window_days: windowDays }: In<typeof workspaceActivity>,
  ): Promise<WorkspaceActivity> {
    return withinTime(ctx, this.config.searchSeconds, ListTooSlow, async () => {
      const all = await daysOfAll(ctx, windowDays);
      const currency = currencyOf(all);
      const agentIds = await busiestAgents(ctx, windowDays, LISTED_AGENTS + 1);
      const listed = agentIds.slice(0, LISTED_AGENTS);
      const groups = await groupsOf(ctx, windowDays, listed);
      const costliest = await costliestRuns(ctx, windowDays, { currency, limit: COSTLIEST_RUNS });
      return {
        window_days: windowDays,
        ...sumUp(all, currency, datesOf(ctx.now, windowDays)),
        agents: listed.map((agentId) =>
          agentSummary(agentId, groupsOfAgent(groups, agentId), { windowDays, currency }),
        ),
        agents_truncated: agentIds.length > LISTED_AGENTS,
        top_cost_runs: costliest.map(costlyView),
      };
    });
  }
}

async function groupsOf(ctx: OpContext, windowDays: number, agentIds: readonly string[]) {
  const [days, models, last] = await Promise.all([
    daysOfAgents(ctx, windowDays, agentIds),
    modelsOfAgents(ctx, windowDays, agentIds),
    lastRuns(ctx, windowDays, agentIds),
  ]);
  return { days: Map.groupBy(days, byAgent), models: Map.groupBy(models, byAgent), last: Map.groupBy(last, byAgent) };
}

function byAgent({ agent_id }: { readonly agent_id: string | null }): string {
  return agent_id ?? '';
}

function groupsOfAgent(groups: Awaited<ReturnType<typeof groupsOf>>, agentId: string): AgentGroups {
  return {
    days: groups.days.get(agentId) ?? [],
    models: groups.models.get(agentId) ?? [],
    last: groups.last.get(agentId)?.[0],
  };
}
