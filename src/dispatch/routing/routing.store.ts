/** Whether an agent has a queued run. */
export const QUEUED_OF = `SELECT EXISTS (SELECT FROM run_facts WHERE account_id = $1 AND agent_id = $2 AND status = 'queued') AS queued`;

/** The worker of a run that was cancelled while it was out. */
export const CANCEL_HOLDER = `SELECT worker_id FROM run_facts WHERE account_id = $1 AND id = $2 AND status = 'cancelled'`;

export interface CancelHolder {
  readonly worker_id: string | null;
}

/** Of the agents whose workers hang here: how many runs wait, where the first has waited for longer than a doorbell takes. */
export const WAITING_OF = `
  SELECT agent.account_id, agent.agent_id, waiting.count
    FROM unnest($1::text[], $2::text[]) AS agent (account_id, agent_id)
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS count, min(queued_at) AS oldest FROM (
       SELECT queued_at FROM run_facts WHERE account_id = agent.account_id AND agent_id = agent.agent_id AND status = 'queued' LIMIT 100) AS queue
   ) AS waiting
   WHERE waiting.oldest < now() - make_interval(secs => 0.5)`;

export interface WaitingAgent {
  readonly account_id: string;
  readonly agent_id: string;
  readonly count: number;
}

/**
 * Invoked runs that nobody can take: since they were queued, or since the last worker of their agent stopped being
 * assignable, `$1` seconds have passed. A worker is assignable while it was heard within `$2` seconds and either works or
 * asked for work within `$3` seconds; the moment it stopped is when the first of these windows closed.
 */
export const UNREACHABLE = `
  SELECT run.account_id, run.id, reach.workers
    FROM run_facts AS run
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS workers,
            max(CASE
              WHEN token.is_valid IS NOT TRUE OR worker.mode <> 'normal' OR worker.last_claim_at IS NULL THEN NULL -- least() would pass over a null
              WHEN EXISTS (SELECT FROM run_facts AS held WHERE held.account_id = worker.account_id AND held.worker_id = worker.id AND held.status IN ('claimed', 'running'))
                THEN worker.last_seen_at + make_interval(secs => $2)
              ELSE least(worker.last_seen_at + make_interval(secs => $2), worker.last_claim_at + make_interval(secs => $3))
            END) AS assignable_until
       FROM worker_presence AS worker
       LEFT JOIN worker_token_state AS token ON token.account_id = worker.account_id AND token.id = worker.token_id
      WHERE worker.account_id = run.account_id AND worker.agent_id = run.agent_id AND worker.registered_at IS NOT NULL) AS reach
   WHERE run.status = 'queued' AND run.transport IN ('api_sync', 'api_sse')
     AND run.queued_at < now() - make_interval(secs => $1)
     AND greatest(run.queued_at, reach.assignable_until) < now() - make_interval(secs => $1)
   LIMIT 100`;

export interface UnreachableRun {
  readonly account_id: string;
  readonly id: string;
  readonly workers: number;
}
