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

/** A run as it is handed out. */
export interface Job {
  readonly id: string;
  readonly agent_id: string;
  readonly attempt: number;
  readonly input: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly thread_id: string;
  readonly parent_run_id: string | null;
  readonly origin_kind: string;
  readonly origin_id: string | null;
  readonly request_id: string;
  readonly traceparent: string | null;
}

export interface HeldRun {
  readonly id: string;
  readonly status: 'claimed' | 'running';
  readonly offers: number;
}

export interface ClaimResult {
  readonly job: Job | undefined;
  /** What the worker holds and did not name: it has lost these, and was given nothing until they are settled. */
  readonly lost: readonly HeldRun[];
}

/**
 * One statement: looks at what the worker holds, picks the oldest queued run that nobody else is picking, and takes it
 * with the next attempt and a free slot. `holds` are the runs that the worker says it is working on.
 * Two claims of one worker at once meet at the unique slot: one of them fails there and is made again.
 */
function claimText(hasOneSlot: boolean): string {
  const slot = hasOneSlot
    ? '0'
    : '(SELECT min(slot) FROM generate_series(0, $4::int - 1) AS slot WHERE slot NOT IN (SELECT slot FROM held))';
  const isNamed = hasOneSlot ? 'false' : 'id = ANY ($5::text[])';
  return `
  WITH held AS MATERIALIZED (
    SELECT id, status, offers, slot, ${isNamed} AS is_named
      FROM run WHERE account_id = $1 AND worker_id = $3 AND status IN ('claimed', 'running') AND slot IS NOT NULL),
  taken AS (
    UPDATE run SET status = 'claimed', attempt = attempt + 1, offers = offers + 1, worker_id = $3, slot = ${slot},
           claimed_at = now(), started_at = NULL, last_seq = last_seq + 1
     WHERE account_id = $1 AND id = (
       SELECT id FROM run
        WHERE account_id = $1 AND agent_id = $2 AND status = 'queued' AND NOT EXISTS (SELECT FROM held WHERE NOT is_named)
        ORDER BY priority DESC, queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING account_id, id, day, last_seq, agent_id, attempt, input, event_id, thread_id, parent_run_id, origin_kind, origin_id,
              request_id, traceparent),
  logged AS (
    INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, event)
    SELECT account_id, id, day, last_seq, attempt, 'run.status',
           json_build_object('status', 'claimed', 'attempt', attempt, 'worker_id', $3::text, 'code', NULL)
      FROM taken)
  SELECT taken.id, taken.agent_id, taken.attempt, taken.input, taken.event_id, taken.thread_id, taken.parent_run_id, taken.origin_kind,
         taken.origin_id, taken.request_id, taken.traceparent,
         (SELECT json_agg(json_build_object('id', id, 'status', status, 'offers', offers)) FROM held WHERE NOT is_named) AS lost
    FROM (SELECT 1) AS always LEFT JOIN taken ON true`;
}

/** Nearly all workers take one run at a time: for them the slot is known beforehand. */
const CLAIM_ONE = claimText(true);
const CLAIM_SLOT = claimText(false);

type ClaimRow = { readonly [Column in keyof Job]: Job[Column] | null } & {
  readonly lost: HeldRun[] | null;
};

/** The row is there in any case, for what it says of the agent; its job only when one was taken. */
function hasJob(row: { readonly id: string | null }): row is Job {
  return row.id !== null;
}

export interface Claimant {
  readonly agentId: string;
  readonly workerId: string;
  readonly slots: number;
  readonly holds: readonly string[];
}

export async function claimRow(ctx: OpContext, { agentId, workerId, slots, holds }: Claimant): Promise<ClaimResult> {
  const asking = [ctx.actor.accountId, agentId, workerId];
  const hasOneSlot = slots === 1 && holds.length === 0;
  const [row] = await (hasOneSlot
    ? ctx.sql<ClaimRow>(CLAIM_ONE, asking)
    : ctx.sql<ClaimRow>(CLAIM_SLOT, [...asking, slots, holds]));
  if (!row) return { job: undefined, lost: [] };
  const { lost, ...job } = row;
  return { job: hasJob(job) ? job : undefined, lost: lost ?? [] };
}

const moving = (change: string): string =>
  movingRow(change, { kept: `${LOGGED}, agent_id`, returned: 'id, agent_id, status' });
const HELD_BY = `account_id = $1 AND id = $2 AND agent_id = $3 AND worker_id = $4 AND ($5::int IS NULL OR attempt = $5)`;

const START = moving(
  `UPDATE run SET status = 'running', started_at = now(), last_seq = last_seq + 1 WHERE ${HELD_BY} AND status = 'claimed'`,
);
const SUCCEED = moving(`
  UPDATE run SET status = 'succeeded', finished_at = now(), started_at = coalesce(started_at, now()), end_code = 'end.succeeded', slot = NULL,
         output = $6::json, output_bytes = $7, usage = coalesce($8::jsonb, usage), diagnostics = $9::json, snapshot = $10::json,
         terminal_frame_id = $11, last_seq = last_seq + ${END_NUMBERS}
   WHERE ${HELD_BY} AND status IN ('claimed', 'running')`);
const FAIL = moving(`
  UPDATE run SET status = 'failed', finished_at = now(), end_code = 'end.failed', error_source = 'worker', slot = NULL,
         error = $6, diagnostics = $7::json, snapshot = $8::json, terminal_frame_id = $9, last_seq = last_seq + ${END_NUMBERS}
   WHERE ${HELD_BY} AND status IN ('claimed', 'running')`);

interface Moved {
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

const OFFER_AGAIN = moving(`
  UPDATE run SET status = 'queued', queued_at = now(), worker_id = NULL, slot = NULL, claimed_at = NULL, last_seq = last_seq + 1
   WHERE account_id = $1 AND id = $2 AND worker_id = $3 AND status = 'claimed'`);

/** Before its start nothing has happened: the run goes back to the queue. */
export async function offerAgainRow(ctx: OpContext, runId: string, workerId: string): Promise<Moved | undefined> {
  return (await ctx.sql<Moved>(OFFER_AGAIN, [ctx.actor.accountId, runId, workerId]))[0];
}

const END = moving(`
  UPDATE run SET status = 'failed', finished_at = now(), end_code = $4, error = $5, error_source = 'platform', slot = NULL,
         last_seq = last_seq + ${END_NUMBERS}
   WHERE account_id = $1 AND id = $2 AND status = ANY ($3::text[])`);

/** Ends a run by our own word. `from` are the statuses in which the word still holds. */
export async function endRow(
  ctx: Pick<OpContext, 'sql'>,
  {
    accountId,
    runId,
    from,
  }: { readonly accountId: string; readonly runId: string; readonly from: readonly RunStatus[] },
  { code, error }: { readonly code: EndCode; readonly error: string },
): Promise<Moved | undefined> {
  return (await ctx.sql<Moved>(END, [accountId, runId, from, code, error]))[0];
}
