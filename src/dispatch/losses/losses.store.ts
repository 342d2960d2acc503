import type { Database } from '../../platform/db/database.ts';
import type { LossRow } from '../../workers/index.ts';

/** A run that is out, whose worker shows some sign of being lost. */
export interface Suspect extends LossRow {
  readonly account_id: string;
  readonly id: string;
  readonly worker_id: string;
  readonly attempt: number;
  readonly status: 'claimed' | 'running';
  readonly is_over_offer: boolean;
}

/** Which of the runs that are out: of one agent, or of all. */
export interface Whose {
  readonly accountId: string;
  readonly agentId: string;
}

/** What was dialled is watched by its replica (`direct`). `$1` and `$2` are an account and an agent, or null for all; `$3` the offer limit, `$4` the window of presence where a worker has none of its own, `$5` the silent limit. */
const SUSPECTS = `
  SELECT run.account_id, run.id, run.worker_id, run.attempt, run.status, terms.silent_limit_seconds,
         run.status = 'claimed' AND run.claimed_at < now() - make_interval(secs => $3) AS is_over_offer,
         now() AS now, hearing.since AS hearing_since, coalesce(worker.last_seen_at, run.claimed_at) AS last_seen_at,
         worker.channel_opened_at, worker.channel_closed_at, worker.channel_closed_by, worker.unacked_since, worker.window_seconds
    FROM run_facts AS run
   CROSS JOIN hearing
    LEFT JOIN agent_terms AS terms ON terms.account_id = run.account_id AND terms.agent_id = run.agent_id
    LEFT JOIN worker_presence AS worker ON worker.account_id = run.account_id AND worker.id = run.worker_id
   WHERE run.status IN ('claimed', 'running') AND run.dialled_by IS NULL
     AND ($1::text IS NULL OR (run.account_id = $1 AND run.agent_id = $2))
     AND (run.status = 'claimed' AND run.claimed_at < now() - make_interval(secs => $3)
       OR worker.unacked_since IS NOT NULL
       OR worker.channel_closed_by = 'worker' AND worker.channel_closed_at >= worker.channel_opened_at
       OR coalesce(worker.last_seen_at, run.claimed_at) < now() - make_interval(secs =>
            CASE run.status WHEN 'claimed' THEN coalesce(worker.window_seconds, $4::float8) ELSE coalesce(terms.silent_limit_seconds, $5::float8) END))
   ORDER BY run.claimed_at LIMIT 1000`;

export interface SuspectLimits {
  readonly offerSeconds: number;
  readonly presenceWindowSeconds: number;
  readonly silentLimitSeconds: number;
}

export async function suspects(
  database: Database,
  whose: Whose | undefined,
  limits: SuspectLimits,
): Promise<Suspect[]> {
  const { offerSeconds, presenceWindowSeconds, silentLimitSeconds } = limits;
  const values = [
    whose?.accountId ?? null,
    whose?.agentId ?? null,
    offerSeconds,
    presenceWindowSeconds,
    silentLimitSeconds,
  ];
  return database.acrossAccounts<Suspect>({ text: SUSPECTS, values });
}
