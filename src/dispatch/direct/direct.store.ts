import type { Config } from '../../platform/config/config.ts';
import type { Database } from '../../platform/db/database.ts';

/**
 * The addresses of workers that are there, or were until less than what invoked runs wait for somebody (`$2` where the agent's
 * policy names no limit): from whose window of presence (`$1` where they have none of their own) that limit is counted.
 */
const ENDPOINTS = `
  SELECT DISTINCT worker.endpoint_url AS url
    FROM worker_presence AS worker
    LEFT JOIN agent_terms AS terms ON terms.account_id = worker.account_id AND terms.agent_id = worker.agent_id
   WHERE worker.endpoint_url IS NOT NULL AND worker.registered_at IS NOT NULL
     AND worker.last_seen_at > now() - make_interval(secs =>
           coalesce(worker.window_seconds, $1::float8) + coalesce(terms.invoke_unreachable_after_seconds, $2::float8))
   LIMIT 10000`;

export async function endpointsInUse(
  database: Database,
  {
    presenceWindowSeconds,
    invokeUnreachableSeconds,
  }: Pick<Config, 'presenceWindowSeconds' | 'invokeUnreachableSeconds'>,
): Promise<string[]> {
  const values = [presenceWindowSeconds, invokeUnreachableSeconds];
  const rows = await database.acrossAccounts<{ url: string }>({ text: ENDPOINTS, values });
  return rows.map(({ url }) => url);
}

/** A worker that may be dialled, with what a token of it would say. */
export interface DialledWorker {
  readonly account_id: string;
  readonly agent_id: string;
  readonly worker_id: string;
  readonly endpoint_url: string;
  readonly max_concurrent: number;
  readonly token_id: string;
  readonly handle: string;
}

const WORKER = `worker.account_id, worker.agent_id, worker.id AS worker_id, worker.endpoint_url, worker.max_concurrent, worker.token_id, token.handle`;
/**
 * Workers for whom a run may wait: what is decided here loosely, and for all, the claim decides exactly (`MAY_BE_DIALLED` in
 * runs/moves). Each account's first comes before anybody's second.
 */
const DUE = `
  SELECT ${WORKER}
    FROM worker_presence AS worker
    JOIN worker_token_state AS token ON token.account_id = worker.account_id AND token.id = worker.token_id AND token.is_valid
    LEFT JOIN direct_call AS call
      ON call.account_id = worker.account_id AND call.worker_id = worker.id AND call.endpoint_url = worker.endpoint_url
   WHERE worker.endpoint_url = ANY ($1) AND worker.registered_at IS NOT NULL AND worker.mode IN ('normal', 'lame_duck')
     AND worker.last_seen_at > now() - make_interval(secs => coalesce(worker.window_seconds, $2))
     AND (worker.last_claim_at IS NULL OR worker.last_claim_at < now() - make_interval(secs => $3))
     AND (call.retry_at IS NULL OR call.retry_at <= now())
     AND EXISTS (
       SELECT FROM run_facts AS run
        WHERE run.account_id = worker.account_id AND run.agent_id = worker.agent_id AND run.status = 'queued'
          AND run.waiting_since <= now() - make_interval(secs => $3) AND (run.not_before IS NULL OR run.not_before <= now()))
     AND worker.max_concurrent > (
       SELECT count(*) FROM run_facts AS held
        WHERE held.account_id = worker.account_id AND held.worker_id = worker.id AND held.slot IS NOT NULL AND held.status IN ('claimed', 'running'))
   ORDER BY row_number() OVER (PARTITION BY worker.account_id ORDER BY worker.mode = 'normal' DESC, call.called_at NULLS FIRST), worker.account_id
   LIMIT 200`;

export interface Windows {
  readonly presenceWindowSeconds: number;
  readonly directAfterSeconds: number;
}

export async function dueWorkers(
  database: Database,
  urls: readonly string[],
  { presenceWindowSeconds, directAfterSeconds }: Windows,
): Promise<DialledWorker[]> {
  return database.acrossAccounts<DialledWorker>({
    text: DUE,
    values: [urls, presenceWindowSeconds, directAfterSeconds],
  });
}

const KNOWN = `
  SELECT ${WORKER} FROM worker_presence AS worker
    LEFT JOIN worker_token_state AS token ON token.account_id = worker.account_id AND token.id = worker.token_id
   WHERE worker.account_id = $1 AND worker.id = $2 AND worker.endpoint_url IS NOT NULL`;

/** Undefined when it was forgotten, or gives no address any more. */
export async function workerById(
  database: Database,
  { accountId, workerId }: { readonly accountId: string; readonly workerId: string },
): Promise<DialledWorker | undefined> {
  return (await database.acrossAccounts<DialledWorker>({ text: KNOWN, values: [accountId, workerId] }))[0];
}

const ENDED = `
  SELECT flight.account_id, flight.id
    FROM unnest($1::text[], $2::text[], $3::int[]) AS flight (account_id, id, attempt)
    LEFT JOIN run_facts AS run ON run.account_id = flight.account_id AND run.id = flight.id
   WHERE run.id IS NULL OR run.attempt <> flight.attempt OR run.status NOT IN ('claimed', 'running')`;

/** Which of these runs are not out any more in that attempt. */
export async function endedAmong(
  database: Database,
  runs: readonly { readonly accountId: string; readonly runId: string; readonly attempt: number }[],
): Promise<{ readonly account_id: string; readonly id: string }[]> {
  const values = [
    runs.map(({ accountId }) => accountId),
    runs.map(({ runId }) => runId),
    runs.map(({ attempt }) => attempt),
  ];
  return database.acrossAccounts({ text: ENDED, values });
}

/** Sent, and nothing was heard of the worker since for as long as its agent's policy allows; `$1` where it names no limit. */
const SILENT = `
  SELECT run.account_id, run.id, run.worker_id, run.attempt, limits.seconds
    FROM run_facts AS run
   CROSS JOIN hearing
    LEFT JOIN agent_terms AS terms ON terms.account_id = run.account_id AND terms.agent_id = run.agent_id
    LEFT JOIN worker_presence AS worker ON worker.account_id = run.account_id AND worker.id = run.worker_id
   CROSS JOIN LATERAL (SELECT coalesce(terms.silent_limit_seconds, $1::float8)::float8 AS seconds) AS limits
   WHERE run.dialled_by IS NOT NULL AND run.status = 'running'
     AND greatest(worker.last_seen_at, run.started_at, hearing.since) < now() - make_interval(secs => limits.seconds)
   LIMIT 100`;

export interface SilentRun {
  readonly account_id: string;
  readonly id: string;
  readonly worker_id: string;
  readonly attempt: number;
  readonly seconds: number;
}

export async function silentRuns(database: Database, silentLimitSeconds: number): Promise<SilentRun[]> {
  return database.acrossAccounts<SilentRun>({ text: SILENT, values: [silentLimitSeconds] });
}

export interface Called {
  readonly accountId: string;
  readonly workerId: string;
  readonly endpointUrl: string;
  readonly outcome: 'answered' | 'lost' | 'unsent' | 'excluded';
  readonly said: string | null;
}

/** The pause before it is dialled again: `$6` after the first failure, then twice as long each time, and never the same for all. */
const NOTE = `
  INSERT INTO direct_call AS call (account_id, worker_id, endpoint_url, outcome, said, failures, called_at, retry_at)
  SELECT $1, $2, $3, $4, $5, failed.times, now(),
         CASE WHEN failed.times > 0 THEN now() + make_interval(secs => $6::float8 * least(2 ^ (failed.times - 1), 30) * (0.75 + random() / 2)) END
    FROM worker_presence AS worker
   CROSS JOIN LATERAL (
     SELECT CASE WHEN $4 IN ('unsent', 'excluded') THEN 1 + coalesce((
              SELECT failures FROM direct_call WHERE account_id = $1 AND worker_id = $2 AND endpoint_url = $3), 0) ELSE 0 END AS times) AS failed
   WHERE worker.account_id = $1 AND worker.id = $2
  ON CONFLICT (account_id, worker_id) DO UPDATE SET endpoint_url = excluded.endpoint_url, outcome = excluded.outcome, said = excluded.said,
    failures = excluded.failures, called_at = excluded.called_at, retry_at = excluded.retry_at`;

/** What came of a call, for operators and for the next one. */
export async function noteCall(database: Database, called: Called, pauseSeconds: number): Promise<void> {
  const { accountId, workerId, endpointUrl, outcome, said } = called;
  const values = [accountId, workerId, endpointUrl, outcome, said?.slice(0, 500) ?? null, pauseSeconds];
  await database.asAccount(accountId, (transaction) => transaction.query({ text: NOTE, values }));
}
