import type { OpContext } from '../../platform/operation/operation.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

/** Where runs moved after a moment. `$3`: those under way, too, since their numbers grow without a move. */
const MOVED = `
  SELECT id, agent_id, worker_id FROM run_facts
   WHERE account_id = $1 AND status IN ('claimed', 'running') AND ($3 OR greatest(claimed_at, started_at, cancel_requested_at) > $2)
  UNION SELECT id, agent_id, worker_id FROM run_facts WHERE account_id = $1 AND status = 'queued' AND waiting_since > $2
  UNION SELECT id, agent_id, worker_id FROM run_facts WHERE account_id = $1 AND created_at > $2
  UNION SELECT id, agent_id, worker_id FROM run_facts WHERE account_id = $1 AND finished_at > $2`;
/** What turns a worker on, off or aside. Silence has no moment of its own: who fell silent lately is looked at again and again. */
const TURNED = `
  SELECT id, agent_id FROM worker_presence
   WHERE account_id = $1 AND registered_at IS NOT NULL
     AND (greatest(registered_at, mode_since, channel_opened_at, channel_closed_at, unacked_since) > $2
          OR last_seen_at BETWEEN $2 - interval '20 minutes' AND now() - interval '5 seconds')`;

const CHANGED = {
  runs: `SELECT DISTINCT id FROM (${MOVED}) AS moved LIMIT $4`,
  workers: `SELECT id FROM (${TURNED} UNION SELECT worker_id, agent_id FROM (${MOVED}) AS moved WHERE worker_id IS NOT NULL) AS changed GROUP BY id LIMIT $4`,
  agents: `
    SELECT id FROM (
      SELECT id FROM agent_changes WHERE account_id = $1 AND changed_at > $2
      UNION SELECT agent_id FROM (${TURNED}) AS turned UNION SELECT agent_id FROM (${MOVED}) AS moved) AS changed LIMIT $4`,
  approvals: `SELECT id FROM approval_changes WHERE account_id = $1 AND $3::boolean IS NOT NULL AND changed_at > $2 LIMIT $4`,
};

export type ChangingTopic = keyof typeof CHANGED;

/** Ids of what may have changed. */
export async function changedSince(
  { actor, sql }: Asking,
  topic: ChangingTopic,
  since: Date,
  { whole, limit }: { readonly whole: boolean; readonly limit: number },
): Promise<string[]> {
  const rows = await sql<{ id: string }>(CHANGED[topic], [actor.accountId, since, whole, limit]);
  return rows.map(({ id }) => id);
}

/** The database's clock, by which everything above is compared. */
export async function nowOf({ sql }: Pick<Asking, 'sql'>): Promise<Date> {
  const [row] = await sql<{ now: Date }>('SELECT now() AS now');
  return row?.now ?? new Date(0);
}
