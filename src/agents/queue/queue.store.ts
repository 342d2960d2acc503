import type { OpContext } from '../../platform/operation/operation.ts';

/** Whether an agent's runs are taken and handed out. */
export type QueueMode = 'open' | 'paused' | 'draining';

export interface QueueRow {
  readonly state: QueueMode;
  /** Null, like the others: nobody ever changed it. */
  readonly since: Date | null;
  readonly changed_by: string | null;
  readonly reason: string | null;
}

export interface QueueLength {
  readonly queued: number;
  readonly active: number;
  readonly oldest_queued_at: Date | null;
}

const FIND = 'SELECT state, since, changed_by, reason FROM agent_queue WHERE account_id = $1 AND agent_id = $2';
const NEVER_CHANGED: QueueRow = { state: 'open', since: null, changed_by: null, reason: null };

export async function findQueue(ctx: OpContext, agentId: string): Promise<QueueRow> {
  return (await ctx.sql<QueueRow>(FIND, [ctx.actor.accountId, agentId]))[0] ?? NEVER_CHANGED;
}

const SET = `
  INSERT INTO agent_queue (account_id, agent_id, state, changed_by, reason) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (account_id, agent_id) DO UPDATE SET
    state = excluded.state, since = now(), changed_by = excluded.changed_by, reason = excluded.reason
  RETURNING state, since, changed_by, reason`;

export async function setQueue(
  ctx: OpContext,
  agentId: string,
  { state, reason }: Pick<QueueRow, 'state' | 'reason'>,
): Promise<QueueRow> {
  const [row] = await ctx.sql<QueueRow>(SET, [ctx.actor.accountId, agentId, state, ctx.actor.id, reason]);
  return row ?? NEVER_CHANGED;
}

const MEASURE = `
  SELECT (count(*) FILTER (WHERE status = 'queued'))::int AS queued, (count(*) FILTER (WHERE status <> 'queued'))::int AS active,
         min(queued_at) FILTER (WHERE status = 'queued') AS oldest_queued_at
    FROM run_facts WHERE account_id = $1 AND agent_id = $2 AND status IN ('queued', 'claimed', 'running')`;

export async function measureQueue(ctx: OpContext, agentId: string): Promise<QueueLength> {
  const [length] = await ctx.sql<QueueLength>(MEASURE, [ctx.actor.accountId, agentId]);
  return length ?? { queued: 0, active: 0, oldest_queued_at: null };
}
