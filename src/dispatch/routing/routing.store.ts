/** Whether an agent has a queued run. */
export const QUEUED_OF = `SELECT EXISTS (SELECT FROM run_facts WHERE account_id = $1 AND agent_id = $2 AND status = 'queued' AND (not_before IS NULL OR not_before <= now())) AS queued`;

/** The worker of a run that we ended while it was out. */
export const CANCEL_HOLDER = `SELECT worker_id FROM run_facts WHERE account_id = $1 AND id = $2 AND cancel_requested_at IS NOT NULL AND finished_at IS NOT NULL`;

export interface CancelHolder {
  readonly worker_id: string | null;
}

/** Of the agents whose workers hang here: how many runs may be handed out, where one has waited for longer than a doorbell takes. */
export const WAITING_OF = `
  SELECT agent.account_id, agent.agent_id, waiting.count
    FROM unnest($1::text[], $2::text[]) AS agent (account_id, agent_id)
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS count, min(since) AS oldest FROM (
       SELECT coalesce(not_before, waiting_since) AS since FROM run_facts
        WHERE account_id = agent.account_id AND agent_id = agent.agent_id AND status = 'queued' AND (not_before IS NULL OR not_before <= now())
        LIMIT 100) AS queue
   ) AS waiting
   WHERE waiting.oldest < now() - make_interval(secs => 0.5)
     AND NOT EXISTS (SELECT FROM agent_terms AS terms
                      WHERE terms.account_id = agent.account_id AND terms.agent_id = agent.agent_id AND terms.queue_state = 'paused')`;

export interface WaitingAgent {
  readonly account_id: string;
  readonly agent_id: string;
  readonly count: number;
}

/**
 * Invoked runs that nobody can take: since they wait, or since the last worker of their agent that fits stopped being
 * assignable, the agent's limit (`$1` where its policy names none) has passed. A worker is assignable while it was heard
 * within its window of presence (`$2` seconds where it has none of its own), has not closed its channel for `$4` seconds, and either works, or asked for work within `$3` seconds, or can
 * be dialled at one of the addresses `$5`; the moment it stopped is when the first of these windows closed.
 */
export const UNREACHABLE = `
  SELECT run.account_id, run.id, reach.workers, limits.seconds
    FROM run_facts AS run
   CROSS JOIN hearing
    LEFT JOIN agent_terms AS terms ON terms.account_id = run.account_id AND terms.agent_id = run.agent_id
   CROSS JOIN LATERAL (SELECT coalesce(terms.invoke_unreachable_after_seconds, $1::float8) AS seconds) AS limits
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS workers, max(assignable.until) AS assignable_until
       FROM worker_presence AS worker
       LEFT JOIN worker_token_state AS token ON token.account_id = worker.account_id AND token.id = worker.token_id
       LEFT JOIN direct_state AS direct
         ON direct.dialled_account = worker.account_id AND direct.dialled_worker = worker.id AND direct.dialled_url = worker.endpoint_url
      CROSS JOIN LATERAL (SELECT least(
              worker.last_seen_at + make_interval(secs => coalesce(worker.window_seconds, $2)),
              CASE WHEN worker.channel_closed_by = 'worker' AND worker.channel_closed_at >= worker.channel_opened_at
                THEN greatest(worker.channel_closed_at, worker.last_seen_at, hearing.since) + make_interval(secs => $4) END) AS until) AS present
      CROSS JOIN LATERAL (SELECT CASE
              WHEN token.is_valid IS NOT TRUE OR worker.mode NOT IN ('normal', 'lame_duck')
                OR run.require_version <> worker.version OR NOT worker.labels @> run.require_labels OR (run.needs_replay AND NOT worker.can_replay)
                THEN NULL
              WHEN worker.endpoint_url = ANY ($5::text[]) AND (direct.outcome IS NULL OR direct.outcome IN ('answered', 'lost')) THEN present.until
              WHEN worker.last_claim_at IS NULL THEN NULL
              WHEN EXISTS (SELECT FROM run_facts AS held WHERE held.account_id = worker.account_id AND held.worker_id = worker.id AND held.status IN ('claimed', 'running'))
                THEN present.until
              ELSE least(present.until, worker.last_claim_at + make_interval(secs => $3)) -- least() passes over a null
            END AS until) AS assignable
      WHERE worker.account_id = run.account_id AND worker.agent_id = run.agent_id AND worker.registered_at IS NOT NULL) AS reach
   WHERE run.status = 'queued' AND run.transport IN ('api_sync', 'api_sse')
     AND run.waiting_since < now() - make_interval(secs => least($1, 1))
     AND greatest(run.waiting_since, run.not_before, reach.assignable_until) < now() - make_interval(secs => limits.seconds)
   LIMIT 100`;

export interface UnreachableRun {
  readonly account_id: string;
  readonly id: string;
  readonly workers: number;
  readonly seconds: number;
}
