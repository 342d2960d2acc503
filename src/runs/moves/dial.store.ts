import type { Database } from '../../platform/db/database.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { END_NUMBERS } from '../lifecycle/lifecycle.store.ts';
import { LOGGED, moving } from '../lifecycle/log.store.ts';
import type { Moved } from './moves.store.ts';

/** A run that a worker was dialled for, in the attempt that this was. */
export interface DialledRun {
  readonly accountId: string;
  readonly runId: string;
  readonly workerId: string;
  readonly attempt: number;
}

type Sql = Pick<OpContext, 'sql'>;

/** Nothing was sent: it is as if the worker had not been dialled, and the run waits on where it stood. */
const UNSEND = moving(
  `UPDATE run SET status = 'queued', worker_id = NULL, slot = NULL, dialled_by = NULL, claimed_at = NULL, started_at = NULL, offers = offers - 1,
          starts = starts - (status = 'running')::int, first_claimed_at = CASE WHEN offers > 1 THEN first_claimed_at END, last_seq = last_seq + 1
    WHERE account_id = $1 AND id = $2 AND worker_id = $3 AND attempt = $4 AND status IN ('claimed', 'running') AND dialled_by IS NOT NULL`,
  {
    kept: `${LOGGED}, agent_id`,
    returned: 'id, agent_id, status',
    code: `'direct.retrying'`,
    detail: `json_build_object('worker_id', $3::text, 'why', $5::text)`,
  },
);

/** Undefined when it is not that worker’s any more. */
export async function unsendRow({ sql }: Sql, run: DialledRun, why: string): Promise<Moved | undefined> {
  const { accountId, runId, workerId, attempt } = run;
  return (await sql<Moved>(UNSEND, [accountId, runId, workerId, attempt, why]))[0];
}

const LOSE = moving(
  `UPDATE run SET status = 'failed', finished_at = now(), end_code = 'end.delivery_lost', error = $5, end_detail = $6::jsonb,
          error_source = 'platform', slot = NULL, last_seq = last_seq + ${END_NUMBERS}
    WHERE account_id = $1 AND id = $2 AND worker_id = $3 AND attempt = $4 AND status IN ('claimed', 'running') AND dialled_by IS NOT NULL`,
  { kept: `${LOGGED}, agent_id`, returned: 'id, agent_id, status' },
);

/** It was sent, and its answer will not come. Whatever the agent's policy says of failures, it is not sent again. */
export async function loseDeliveryRow({ sql }: Sql, run: DialledRun, why: string): Promise<Moved | undefined> {
  const { accountId, runId, workerId, attempt } = run;
  const detail = JSON.stringify({ worker_id: workerId, attempt, why });
  return (await sql<Moved>(LOSE, [accountId, runId, workerId, attempt, `delivery_lost: ${why}`, detail]))[0];
}

/** A run whose answer nobody waits for: the replica that had dialled is gone, or has forgotten it. */
export interface AdoptedRun {
  readonly account_id: string;
  readonly id: string;
  readonly agent_id: string;
  readonly worker_id: string;
  readonly attempt: number;
  /** Claimed: nothing was sent. Running: it may have been. */
  readonly status: 'claimed' | 'running';
}

/**
 * What was dialled by replicas that give no sign of life, and by this one without its knowing. Silence counts only while somebody
 * could hear: after an outage of the database the others have time to say that they live.
 */
const ADOPT = `
  UPDATE run SET dialled_by = $1
    FROM (SELECT account_id, id FROM run
           WHERE dialled_by IS NOT NULL AND status IN ('claimed', 'running')
             AND CASE WHEN dialled_by = $1 THEN id <> ALL ($2::text[]) ELSE
                   NOT EXISTS (SELECT FROM replica WHERE replica.id = run.dialled_by AND replica.seen_at > now() - make_interval(secs => $3))
                   AND (SELECT since FROM hearing) < now() - make_interval(secs => $3) END
           LIMIT $4 FOR UPDATE SKIP LOCKED) AS orphan
   WHERE run.account_id = orphan.account_id AND run.id = orphan.id
  RETURNING run.account_id, run.id, run.agent_id, run.worker_id, run.attempt, run.status`;

/** `known` are the runs that this replica waits for. */
export async function adoptRows(
  database: Database,
  { replicaId, known, aliveSeconds, most }: Adopting,
): Promise<AdoptedRun[]> {
  return database.asSystem('look for answers nobody waits for', (system) =>
    system.query<AdoptedRun>({ text: ADOPT, values: [replicaId, known, aliveSeconds, most] }),
  );
}

export interface Adopting {
  readonly replicaId: string;
  readonly known: readonly string[];
  readonly aliveSeconds: number;
  readonly most: number;
}
