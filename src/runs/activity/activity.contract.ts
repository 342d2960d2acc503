import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { AgentNotFound } from '../../agents/index.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunStatusName, RunUsage } from '../lifecycle/lifecycle.contract.ts';
import { ListTooSlow } from '../lifecycle/lifecycle.faults.ts';

/** What was spent, in one currency. What workers reported and what was estimated stand apart; `cost_amount` is both. */
const cost = {
  cost_amount: z.number(),
  cost_reported: z.number(),
  cost_estimated: z.number(),
  currency: z.string(),
};
const counts = { runs: z.int(), succeeded: z.int(), failed: z.int(), active: z.int(), ...cost };

const ActivityBucket = z.object({ date: z.string(), ...counts }).meta({ id: 'ActivityBucket' });

/** Ours beside the contract's: its two parts, so that nobody need take an estimate for a bill. */
const ModelActivity = z
  .object({ model: z.string(), provider: z.string().nullable(), runs: z.int(), ...cost })
  .meta({ id: 'ModelActivity' });

/** Amounts of different currencies are never added up. */
const others = { other_currencies: z.array(z.object(cost)) };

const AgentActivitySummary = z
  .object({
    agent_id: z.string(),
    window_days: z.int(),
    ...counts,
    buckets: z.array(ActivityBucket),
    model_mix: z.array(ModelActivity),
    last_successful_run_id: z.string().nullable(),
    last_failed_run_id: z.string().nullable(),
    ...others,
  })
  .meta({ id: 'AgentActivitySummary' });

const TopCostRunSummary = z
  .object({
    run_id: z.string(),
    agent_id: z.string(),
    title: z.string(),
    status: RunStatusName,
    created_at: z.string(),
    usage: RunUsage,
  })
  .meta({ id: 'TopCostRunSummary' });

const WorkspaceActivityResponse = z
  .object({
    window_days: z.int(),
    ...counts,
    buckets: z.array(ActivityBucket),
    agents: z.array(AgentActivitySummary),
    top_cost_runs: z.array(TopCostRunSummary),
    ...others,
    /** Only those with the most runs are listed; the sums are of all. */
    agents_truncated: z.boolean(),
  })
  .meta({ id: 'WorkspaceActivityResponse' });

const query = z.object({ window_days: z.coerce.number().int().min(1).max(365).default(30) });

export const agentActivity = operation({
  id: 'runs.agent_activity',
  summary: 'Sums up the runs of an agent by day of their creation, in UTC.',
  http: { method: 'GET', path: '/api/v1/runs/activity/agents/{agent_id}', status: 200 },
  capability: 'run.read',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path: z.object({ agent_id: AgentName }), query },
  output: AgentActivitySummary,
  faults: [AgentNotFound, ListTooSlow],
});

export const workspaceActivity = operation({
  id: 'runs.workspace_activity',
  summary: 'Sums up the runs of the account by day of their creation, in UTC, and by agent.',
  http: { method: 'GET', path: '/api/v1/runs/activity/workspace', status: 200 },
  capability: 'run.read',
  input: { query },
  output: WorkspaceActivityResponse,
  faults: [ListTooSlow],
});
