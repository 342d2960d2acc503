import type { OpContext } from '../../platform/operation/operation.ts';
import type { RunStatus } from '../lifecycle/lifecycle.states.ts';

/** Runs that were created on one day and are alike. */
export interface DayGroup {
  /** Null where all agents are taken together. */
  readonly agent_id: string | null;
  readonly date: string;
  readonly status: RunStatus;
  readonly currency: string | null;
  readonly cost_source: string | null;
  readonly runs: number;
  readonly cost: number | null;
}

export interface ModelGroup {
  readonly agent_id: string;
  readonly model: string;
  readonly provider: string | null;
  readonly currency: string | null;
  readonly cost_source: string | null;
  readonly runs: number;
  readonly cost: number | null;
}

export interface LastRuns {
  readonly agent_id: string;
  readonly succeeded: string | null;
  readonly failed: string | null;
}

export interface CostlyRun {
  readonly id: string;
  readonly agent_id: string;
  readonly handle: string | null;
  readonly status: RunStatus;
  readonly created_at: Date;
  readonly usage: Readonly<Record<string, unknown>>;
  readonly input: Readonly<Record<string, unknown>>;
}

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** From midnight of the first day on; today is the last of them. */
const SINCE = `(date_trunc('day', now() AT TIME ZONE 'UTC') - ($2::int - 1) * interval '1 day') AT TIME ZONE 'UTC'`;
/** Agent by agent, in the order of the index that holds all that is summed up: no run's row is read. */
const ENDED = `
  agent_directory AS agent
  CROSS JOIN LATERAL (
    SELECT id, created_at, status, cost_amount, cost_source, cost_currency, model, provider FROM run
     WHERE account_id = $1 AND agent_id = agent.id AND created_at >= ${SINCE} AND finished_at IS NOT NULL) AS ended
  WHERE agent.account_id = $1 AND ($3::text[] IS NULL OR agent.id = ANY ($3))`;
const DATE = `to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;

const days = (agent: string, grouped: string): string => `
  SELECT ${agent} AS agent_id, to_char(ended.created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS date, status, cost_currency AS currency, cost_source, count(*)::int AS runs,
         sum(cost_amount) AS cost
    FROM ${ENDED} GROUP BY ${grouped}
  UNION ALL
  SELECT ${agent === 'NULL' ? 'NULL' : 'agent_id'}, ${DATE}, status, NULL, NULL, count(*)::int, NULL FROM run
   WHERE account_id = $1 AND status IN ('queued', 'claimed', 'running') AND created_at >= ${SINCE}
     AND ($3::text[] IS NULL OR agent_id = ANY ($3))
   GROUP BY 1, 2, 3`;
const ALL_DAYS = days('NULL', '2, 3, 4, 5');
const DAYS_OF_AGENTS = days('agent.id', '1, 2, 3, 4, 5');
const MODELS = `
  SELECT agent.id AS agent_id, model, provider, cost_currency AS currency, cost_source, count(*)::int AS runs, sum(cost_amount) AS cost
    FROM ${ENDED} AND model IS NOT NULL GROUP BY 1, 2, 3, 4, 5`;

/** The runs since midnight UTC of the day `windowDays - 1` days ago, of some agents. */
export async function daysOfAgents(
  { actor, sql }: Sql,
  windowDays: number,
  agentIds: readonly string[],
): Promise<DayGroup[]> {
  return sql<DayGroup>(DAYS_OF_AGENTS, [actor.accountId, windowDays, agentIds]);
}

export async function daysOfAll({ actor, sql }: Sql, windowDays: number): Promise<DayGroup[]> {
  return sql<DayGroup>(ALL_DAYS, [actor.accountId, windowDays, null]);
}

export async function modelsOfAgents(
  { actor, sql }: Sql,
  windowDays: number,
  agentIds: readonly string[],
): Promise<ModelGroup[]> {
  return sql<ModelGroup>(MODELS, [actor.accountId, windowDays, agentIds]);
}

const BUSIEST = `
  SELECT agent_id FROM (
    SELECT agent.id AS agent_id, count(*) AS runs FROM ${ENDED} GROUP BY 1
    UNION ALL
    SELECT agent_id, count(*) FROM run
     WHERE account_id = $1 AND status IN ('queued', 'claimed', 'running') AND created_at >= ${SINCE} GROUP BY 1) AS counted
   GROUP BY agent_id ORDER BY sum(runs) DESC, agent_id LIMIT $4`;

/** The agents with the most runs. */
export async function busiestAgents({ actor, sql }: Sql, windowDays: number, limit: number): Promise<string[]> {
  const rows = await sql<{ agent_id: string }>(BUSIEST, [actor.accountId, windowDays, null, limit]);
  return rows.map(({ agent_id }) => agent_id);
}

const last = (status: string): string => `
  (SELECT id FROM run WHERE account_id = $1 AND agent_id = agent.id AND created_at >= ${SINCE} AND finished_at IS NOT NULL AND status = '${status}'
    ORDER BY created_at DESC LIMIT 1)`;
const LAST = `
  SELECT agent.id AS agent_id, ${last('succeeded')} AS succeeded, ${last('failed')} AS failed
    FROM agent_directory AS agent WHERE agent.account_id = $1 AND agent.id = ANY ($3)`;

export async function lastRuns(
  { actor, sql }: Sql,
  windowDays: number,
  agentIds: readonly string[],
): Promise<LastRuns[]> {
  return sql<LastRuns>(LAST, [actor.accountId, windowDays, agentIds]);
}

const COSTLY = `
  WITH costly AS MATERIALIZED (
    SELECT ended.id, cost_amount FROM ${ENDED} AND cost_amount > 0 AND cost_currency = $4 ORDER BY cost_amount DESC, ended.id LIMIT $5)
  SELECT run.id, run.agent_id, agent.handle, status, run.created_at, usage, CASE WHEN input_bytes > 65536 THEN '{}' ELSE input END AS input
    FROM costly JOIN run ON run.account_id = $1 AND run.id = costly.id
    LEFT JOIN agent_directory AS agent ON agent.account_id = $1 AND agent.id = run.agent_id
   ORDER BY costly.cost_amount DESC, run.id`;

/** The runs that cost most, in one currency. */
export async function costliestRuns(
  { actor, sql }: Sql,
  windowDays: number,
  { currency, limit }: { readonly currency: string; readonly limit: number },
): Promise<CostlyRun[]> {
  return sql<CostlyRun>(COSTLY, [actor.accountId, windowDays, null, currency, limit]);
}
