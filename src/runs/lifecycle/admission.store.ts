import type { OpContext } from '../../platform/operation/operation.ts';

/** Whoever counts before adding waits here for the one before, who may have added. */
const TAKE_TURN = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))';

/**
 * Counts no further than to the limit, in the order of the index of live runs: without one, the plan that is made for a
 * young table walks what waits in all accounts.
 */
const FULL_ACCOUNT = `
  SELECT count(*) >= $2 AS is_full FROM (
    SELECT FROM run WHERE account_id = $1 AND status = 'queued' ORDER BY agent_id, priority DESC, queued_at, id LIMIT $2) AS waiting`;
const FULL_AGENT = `
  SELECT count(*) >= $2 AS is_full FROM (
    SELECT FROM run WHERE account_id = $1 AND agent_id = $3 AND status = 'queued' ORDER BY priority DESC, queued_at, id LIMIT $2) AS waiting`;

/**
 * Whether as many runs wait as may: of the agent, or of the whole account. Until the transaction's end nobody else may
 * count the same, so that those who are let in never exceed the limit. The count is a statement of its own: one that had
 * waited for its turn would look at the rows as they were before.
 */
export async function isQueueFull(ctx: OpContext, limit: number, agentId?: string): Promise<boolean> {
  const { accountId } = ctx.actor;
  const turn = ctx.sql(TAKE_TURN, [`signalbox queue ${accountId}/${agentId ?? ''}`]);
  const counted =
    agentId === undefined
      ? ctx.sql<{ is_full: boolean }>(FULL_ACCOUNT, [accountId, limit])
      : ctx.sql<{ is_full: boolean }>(FULL_AGENT, [accountId, limit, agentId]);
  const [, [row]] = await Promise.all([turn, counted]);
  return row?.is_full ?? false;
}
