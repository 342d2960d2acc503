import type { OpContext } from '../../platform/operation/operation.ts';
import { END_NUMBERS } from '../lifecycle/lifecycle.store.ts';
import { LOGGED, moving as movingRow } from '../lifecycle/log.store.ts';
import type { EndCode, RunStatus } from '../lifecycle/lifecycle.states.ts';

/** Whoever holds a run: only this worker, in this attempt, may move it on. */
export interface Holder {
  readonly runId: string;
  readonly agentId: string;
  readonly workerId: string;
  /** Null: the last attempt that this worker claimed, which is the row's while the worker is its holder. */
  readonly attempt: number | null;
}

const moving = (change: string): string =>
  movingRow(change, { kept: `${LOGGED}, agent_id`, returned: 'id, agent_id, status' });
const HELD_BY = `account_id = $1 AND id = $2 AND agent_id = $3 AND worker_id = $4 AND ($5::int IS NULL OR attempt = $5)`;

/** A report that was taken before, and led to another attempt, is not a report about that one: SDK frames name no attempt. */
function isReportable(frameId: string): string {
  return `status IN ('claimed', 'running') AND ${frameId}::text <> ALL (retried_frames)`;
}
/** How much of a worker's error stands in the run's history. */
const DETAIL_LENGTH = 2_000;

const START = moving(
  `UPDATE run SET status = 'running', started_at = now(), starts = starts + 1, last_seq = last_seq + 1 WHERE ${HELD_BY} AND status = 'claimed'`,
);
const SUCCEED = moving(`
  UPDATE run SET status = 'succeeded', finished_at = now(), started_at = coalesce(started_at, now()), end_code = 'end.succeeded', slot = NULL,
         output = $6::json, output_bytes = $7, usage = coalesce($8::jsonb, usage), diagnostics = $9::json, snapshot = $10::json,
         terminal_frame_id = $11, last_seq = last_seq + ${END_NUMBERS}
   WHERE ${HELD_BY} AND ${isReportable('$11')}`);
const FAIL = movingRow(
  `
  UPDATE run SET status = 'failed', finished_at = now(), end_code = 'end.failed', error_source = 'worker', slot = NULL,
         error = $6, diagnostics = $7::json, snapshot = $8::json, terminal_frame_id = $9, last_seq = last_seq + ${END_NUMBERS}
   WHERE ${HELD_BY} AND ${isReportable('$9')}`,
  {
    kept: `${LOGGED}, agent_id, error`,
    returned: 'id, agent_id, status',
    detail: `json_build_object('worker_id', worker_id, 'error', left(error, ${DETAIL_LENGTH}))`,
  },
);

export interface Moved {
  readonly id: string;
  readonly agent_id: string;
  readonly status: RunStatus;
}

const held = (ctx: OpContext, { runId, agentId, workerId, attempt }: Holder): unknown[] => [
  ctx.actor.accountId,
  runId,
  agentId,
  workerId,
  attempt,
];

export async function startRow(ctx: OpContext, holder: Holder): Promise<Moved | undefined> {
  return (await ctx.sql<Moved>(START, held(ctx, holder)))[0];
}

/** What a worker reports at the end, as JSON texts ready to be stored. */
export interface Success {
  readonly output: string;
  readonly usage: string | null;
  readonly diagnostics: string | null;
  readonly snapshot: string | null;
  readonly frameId: string;
}

export async function succeedRow(
  ctx: OpContext,
  holder: Holder,
  { output, usage, diagnostics, snapshot, frameId }: Success,
): Promise<Moved | undefined> {
  const values = [output, Buffer.byteLength(output), usage, diagnostics, snapshot, frameId];
  return (await ctx.sql<Moved>(SUCCEED, [...held(ctx, holder), ...values]))[0];
}

export interface Failure {
  readonly error: string;
  readonly diagnostics: string | null;
  readonly snapshot: string | null;
  readonly frameId: string;
}

export async function failRow(
  ctx: OpContext,
  holder: Holder,
  { error, diagnostics, snapshot, frameId }: Failure,
): Promise<Moved | undefined> {
  return (await ctx.sql<Moved>(FAIL, [...held(ctx, holder), error, diagnostics, snapshot, frameId]))[0];
}

/** Back to the queue, at its place there: `$9` is why, `$10` what else is to be known of it. */
const BACK = `status = 'queued', waiting_since = now(), worker_id = NULL, slot = NULL, dialled_by = NULL, claimed_at = NULL, started_at = NULL, last_seq = last_seq + 1`;
const requeueing = (change: string, parameters: { readonly code: string; readonly detail: string }): string =>
  movingRow(change, { kept: `${LOGGED}, agent_id`, returned: 'id, agent_id, status', ...parameters });
/** A report may have overtaken a lost `run_started`: whoever reports has begun. */
const BEGUN = `starts + (status = 'claimed')::int`;
/** The pause before the next attempt, from the policy in `$6`. */
const PAUSE = `now() + make_interval(secs => least(
  ($6::jsonb ->> 'backoff_seconds')::float8 * ($6::jsonb ->> 'factor')::float8 ^ (${BEGUN} - 1), ($6::jsonb ->> 'max_backoff_seconds')::float8))`;
/** What a worker began by itself, in no slot, is nobody else’s to do. */
const MAY_RETRY = `slot IS NOT NULL AND ${BEGUN} < ($6::jsonb ->> 'max_attempts')::int`;

const RETRY_FAILED = requeueing(
  `UPDATE run SET ${BACK}, starts = ${BEGUN}, not_before = ${PAUSE}, retried_frames = retried_frames || $7::text
    WHERE ${HELD_BY} AND ${isReportable('$7')} AND ${MAY_RETRY}`,
  {
    code: `'end.failed'`,
    detail: `CASE WHEN is_withheld THEN json_build_object('worker_id', $4::text) ELSE $8::json END`,
  },
);

/** A worker reported a failure, and the policy tries again. Undefined where the attempts are used up. */
export async function retryFailedRow(
  ctx: OpContext,
  holder: Holder,
  retry: RetryPolicy,
  { frameId, error }: Pick<Failure, 'frameId' | 'error'>,
): Promise<Moved | undefined> {
  const detail = JSON.stringify({ worker_id: holder.workerId, error: error.slice(0, DETAIL_LENGTH).toWellFormed() });
  return (await ctx.sql<Moved>(RETRY_FAILED, [...held(ctx, holder), JSON.stringify(retry), frameId, detail]))[0];
}

/** A run whose holder was lost, as it stood when that was seen: what is settled is this attempt, and no other. */
export interface LostRun {
  readonly accountId: string;
  readonly runId: string;
  readonly workerId: string;
  readonly attempt: number;
  readonly status: 'claimed' | 'running';
}

/** When and how often a run is tried again (ours.md, RetryPolicy), in seconds. */
export interface RetryPolicy {
  readonly on: readonly string[];
  readonly max_attempts: number;
  readonly backoff_seconds: number;
  readonly factor: number;
  readonly max_backoff_seconds: number;
}

export interface Terms {
  readonly retry: RetryPolicy | null;
  readonly max_offers: number | null;
}

const TERMS = 'SELECT retry, max_offers FROM agent_terms WHERE account_id = $1 AND agent_id = $2';
const TERMS_OF_RUN = `
  SELECT terms.retry, terms.max_offers FROM run JOIN agent_terms AS terms USING (account_id, agent_id) WHERE run.account_id = $1 AND run.id = $2`;

export async function termsOfAgent({ sql }: Sql, accountId: string, agentId: string): Promise<Terms | undefined> {
  return (await sql<Terms>(TERMS, [accountId, agentId]))[0];
}

export async function termsOfRun({ sql }: Sql, accountId: string, runId: string): Promise<Terms | undefined> {
  return (await sql<Terms>(TERMS_OF_RUN, [accountId, runId]))[0];
}

type Sql = Pick<OpContext, 'sql'>;
const STILL = `account_id = $1 AND id = $2 AND worker_id = $3 AND attempt = $4 AND status = $5`;

const OFFER_AGAIN = requeueing(
  `UPDATE run SET ${BACK}, failed_offers = CASE WHEN $6::boolean AND $3 <> ALL (failed_offers) THEN failed_offers || $3::text ELSE failed_offers END
    WHERE ${STILL} AND offers < $7`,
  { code: `'worker.failed_offer'`, detail: '$8::json' },
);

/** Before its start nothing has happened: the run is offered again. Undefined when it has been offered often enough. */
export async function offerAgainRow(
  { sql }: Sql,
  run: LostRun,
  {
    isOthersFirst,
    maxOffers,
    rule,
  }: { readonly isOthersFirst: boolean; readonly maxOffers: number; readonly rule: string },
): Promise<Moved | undefined> {
  const detail = JSON.stringify({ rule, worker_id: run.workerId });
  return (await sql<Moved>(OFFER_AGAIN, [...still(run), isOthersFirst, maxOffers, detail]))[0];
}

const RETRY_LOST = requeueing(`UPDATE run SET ${BACK}, not_before = ${PAUSE} WHERE ${STILL} AND ${MAY_RETRY}`, {
  code: `'end.worker_lost'`,
  detail: '$7::json',
});

export async function retryLostRow(
  { sql }: Sql,
  run: LostRun,
  retry: RetryPolicy,
  rule: string,
): Promise<Moved | undefined> {
  const detail = JSON.stringify({ rule, worker_id: run.workerId });
  return (await sql<Moved>(RETRY_LOST, [...still(run), JSON.stringify(retry), detail]))[0];
}

const END_LOST = moving(`
  UPDATE run SET status = 'failed', finished_at = now(), end_code = $6, error = $7, end_detail = $8::jsonb, error_source = 'platform', slot = NULL,
         cancel_requested_at = CASE WHEN $9::boolean THEN now() END, last_seq = last_seq + ${END_NUMBERS}
   WHERE ${STILL}`);

/** Ends a run whose worker was lost. `tellWorker`: should it come back, it hears that nobody waits any more. */
export async function endLostRow(
  { sql }: Sql,
  run: LostRun,
  end: End,
  tellWorker: boolean,
): Promise<Moved | undefined> {
  const { code, error, detail } = end;
  return (await sql<Moved>(END_LOST, [...still(run), code, error, JSON.stringify(detail ?? {}), tellWorker]))[0];
}

function still({ accountId, runId, workerId, attempt, status }: LostRun): unknown[] {
  return [accountId, runId, workerId, attempt, status];
}

/** How a run ends by our own word. */
export interface End {
  readonly code: EndCode;
  readonly error: string;
  readonly detail?: Readonly<Record<string, unknown>>;
}

const END = moving(`
  UPDATE run SET status = 'failed', finished_at = now(), end_code = $4, error = $5, end_detail = $6::jsonb, error_source = 'platform', slot = NULL,
         cancel_requested_at = CASE WHEN status <> 'queued' THEN now() END, last_seq = last_seq + ${END_NUMBERS}
   WHERE account_id = $1 AND id = $2 AND status = ANY ($3::text[])`);

/** Ends a run by our own word; a worker that has it is told to stop. `from` are the statuses in which the word still holds. */
export async function endRow(
  { sql }: Sql,
  {
    accountId,
    runId,
    from,
  }: { readonly accountId: string; readonly runId: string; readonly from: readonly RunStatus[] },
  { code, error, detail }: End,
): Promise<Moved | undefined> {
  return (await sql<Moved>(END, [accountId, runId, from, code, error, JSON.stringify(detail ?? {})]))[0];
}
