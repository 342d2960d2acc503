/** Runs that have waited for longer than their time to live, `$1` where their agent's policy names none. */
export const EXPIRED_WAITING = `
  SELECT run.account_id, run.id, 'queued' AS status, $1::float8 AS seconds
    FROM run_facts AS run
   WHERE run.status = 'queued' AND run.waiting_since < now() - make_interval(secs => $1)
     AND NOT EXISTS (SELECT FROM agent_terms AS terms
                      WHERE terms.account_id = run.account_id AND terms.agent_id = run.agent_id AND terms.queue_ttl_seconds IS NOT NULL)
  UNION ALL
  SELECT terms.account_id, expired.id, 'queued', terms.queue_ttl_seconds
    FROM agent_terms AS terms
   CROSS JOIN LATERAL (
     SELECT id FROM run_facts AS run
      WHERE run.account_id = terms.account_id AND run.agent_id = terms.agent_id AND run.status = 'queued'
        AND run.waiting_since < now() - make_interval(secs => terms.queue_ttl_seconds)
      LIMIT 200) AS expired
   WHERE terms.queue_ttl_seconds IS NOT NULL
   LIMIT 1000`;

/** Runs that are out, or wait for their next attempt, and have taken longer over all attempts than they may. */
export const EXPIRED_OUT = `
  SELECT run.account_id, run.id, run.status, coalesce(terms.run_limit_seconds, $1::float8)::float8 AS seconds
    FROM (
      SELECT account_id, id, agent_id, status, first_claimed_at FROM run_facts WHERE status IN ('claimed', 'running')
      UNION ALL
      SELECT account_id, id, agent_id, status, first_claimed_at FROM run_facts
       WHERE status = 'queued' AND first_claimed_at IS NOT NULL AND first_claimed_at < now()) AS run
    LEFT JOIN agent_terms AS terms ON terms.account_id = run.account_id AND terms.agent_id = run.agent_id
   WHERE run.first_claimed_at < now() - make_interval(secs => coalesce(terms.run_limit_seconds, $1::float8))
   LIMIT 1000`;

export interface ExpiredRun {
  readonly account_id: string;
  readonly id: string;
  readonly status: 'queued' | 'claimed' | 'running';
  /** The limit that it is over. */
  readonly seconds: number;
}
