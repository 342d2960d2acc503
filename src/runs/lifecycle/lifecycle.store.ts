import type { Place } from '../../platform/operation/cursor.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { TextFilters } from './filters.policy.ts';
import { moving } from './log.store.ts';
import type { EndCode, RunStatus } from './lifecycle.states.ts';

/** A run as its row has it. Times are the database's. */
export interface RunRow {
  readonly account_id: string;
  readonly id: string;
  /** Where its evidence is: its creation day, `YYYY-MM-DD`. */
  readonly day: string;
  readonly agent_id: string;
  readonly status: RunStatus;
  readonly attempt: number;
  readonly worker_id: string | null;
  readonly channel: 'ui' | 'slack' | 'cron' | 'webhook' | 'api' | 'agent';
  readonly transport: 'polling' | 'api_sync' | 'api_sse' | 'a2a' | 'schedule';
  readonly origin_kind: string;
  readonly origin_id: string | null;
  readonly event_id: string;
  readonly thread_id: string;
  readonly parent_run_id: string | null;
  readonly input: Readonly<Record<string, unknown>>;
  readonly input_bytes: number;
  readonly output: Readonly<Record<string, unknown>> | null;
  readonly output_bytes: number;
  readonly error: string | null;
  readonly error_source: 'worker' | 'platform' | null;
  readonly end_code: EndCode | null;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly labels: Readonly<Record<string, string>>;
  readonly require_version: string | null;
  readonly require_labels: Readonly<Record<string, string>>;
  /** What a queued run waits for: the end of a pause before its next attempt, or its turn. */
  readonly waiting_kind: 'queue' | 'backoff' | null;
  readonly waiting_since: Date;
  /** Since when somebody is asked to allow what it wants to do. */
  readonly approval_since: Date | null;
  readonly usage: Readonly<Record<string, unknown>> | null;
  /** The state of its session, with which another run may go on. */
  readonly has_snapshot: boolean;
  /** The account keeps no content of it: its input goes at the end, and the rest is never stored. */
  readonly is_withheld: boolean;
  readonly revived_from: string | null;
  readonly diagnostics: Readonly<Record<string, unknown>> | null;
  readonly tool_calls: number;
  /** How often something was masked in what was said of it. */
  readonly masked: number;
  readonly last_seq: number;
  readonly terminal_frame_id: string | null;
  readonly retried_frames: readonly string[];
  readonly request_id: string;
  readonly traceparent: string | null;
  readonly created_at: Date;
  readonly claimed_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly cancel_requested_at: Date | null;
}

type Sql = Pick<OpContext, 'sql'>;

/** An input or output beyond this stays out of lists (contract.md C13). */
export const LISTED_BYTES = 64 * 1024;
/** The end of a run takes this many numbers; the row stands at the last of them (see evidence, streams). */
export const END_NUMBERS = 5;

const REST = `account_id, id, day::text AS day, agent_id, status, attempt, worker_id, channel, transport, origin_kind, origin_id, event_id, thread_id,
  parent_run_id, input_bytes, output_bytes, error, error_source, end_code, metadata, usage, tool_calls, masked, last_seq::float8 AS last_seq,
  terminal_frame_id, retried_frames, request_id, traceparent, created_at, claimed_at, started_at, finished_at, cancel_requested_at,
  labels, require_version, require_labels, waiting_since, snapshot IS NOT NULL AS has_snapshot, is_withheld, revived_from,
  CASE WHEN status = 'queued' THEN CASE WHEN not_before > now() THEN 'backoff' ELSE 'queue' END END AS waiting_kind,
  CASE WHEN status = 'running' THEN (
    SELECT min(asked_at) FROM approval_awaited WHERE awaited_account = account_id AND awaited_run = id AND awaited_attempt = attempt) END AS approval_since`;
const WHOLE = `${REST}, input, output, diagnostics`;
/** As lists show it. */
export const LISTED = `${REST}, NULL::json AS diagnostics,
  CASE WHEN input_bytes > ${LISTED_BYTES} THEN '{}'::json ELSE input END AS input,
  CASE WHEN output_bytes > ${LISTED_BYTES} THEN NULL ELSE output END AS output`;

export interface NewRun {
  readonly id: string;
  readonly agentId: string;
  readonly channel: RunRow['channel'];
  readonly transport: RunRow['transport'];
  readonly origin: { readonly kind: string; readonly id: string | null };
  readonly eventId: string;
  /** The caller chose the event id: then it is one run for good. */
  readonly eventIsCallers: boolean;
  readonly input: string;
  readonly metadata: string;
  readonly usage: string | null;
  readonly labels: string;
  readonly requireVersion: string | null;
  readonly requireLabels: string;
  /** Only a worker that can replay may take it. */
  readonly needsReplay: boolean;
  /** The run with whose session it goes on, and the thread of both. Null: it begins a thread. */
  readonly revives: { readonly runId: string; readonly threadId: string } | null;
  readonly parentRunId: string | null;
}

const INSERT = moving(
  `INSERT INTO run (account_id, id, day, agent_id, channel, transport, origin_kind, origin_id, created_by_kind, created_by,
                    request_id, traceparent, event_id, thread_id, input, input_bytes, metadata, usage, last_seq, event_is_callers,
                    labels, require_version, require_labels, needs_replay, revived_from, prior_snapshot, is_withheld, parent_run_id)
   VALUES ($1, $2, (now() AT TIME ZONE 'UTC')::date, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, coalesce($22, $2), $13::json, $14, $15::json, $16::jsonb, 1, $17,
           $18::jsonb, $19, $20::jsonb, $21, $23, (SELECT snapshot FROM run WHERE account_id = $1 AND id = $23),
           coalesce((SELECT content = 'metadata' FROM account_keeping WHERE account_id = $1), false), $24)
   ON CONFLICT (account_id, agent_id, event_id) WHERE event_is_callers DO NOTHING`,
  { kept: '*', returned: WHOLE },
);

/** Undefined when the agent has a run with this event id already. */
export async function insertRun(ctx: OpContext, run: NewRun): Promise<RunRow | undefined> {
  const { accountId, kind, id: actorId } = ctx.actor;
  const { origin, input } = run;
  const [row] = await ctx.sql<RunRow>(INSERT, [
    accountId,
    run.id,
    run.agentId,
    run.channel,
    run.transport,
    origin.kind,
    origin.id,
    kind,
    actorId,
    ctx.requestId,
    ctx.traceparent ?? null,
    run.eventId,
    input,
    Buffer.byteLength(input),
    run.metadata,
    run.usage,
    run.eventIsCallers,
    run.labels,
    run.requireVersion,
    run.requireLabels,
    run.needsReplay,
    run.revives?.threadId ?? null,
    run.revives?.runId ?? null,
    run.parentRunId,
  ]);
  return row;
}

const FIND = `SELECT ${WHOLE} FROM run WHERE account_id = $1 AND id = $2`;
const FIND_BY_EVENT = `SELECT ${WHOLE} FROM run WHERE account_id = $1 AND agent_id = $2 AND event_id = $3 AND event_is_callers`;

export async function findRun({ sql }: Sql, accountId: string, runId: string): Promise<RunRow | undefined> {
  return (await sql<RunRow>(FIND, [accountId, runId]))[0];
}

export async function findRunByEvent(
  { sql }: Sql,
  accountId: string,
  agentId: string,
  eventId: string,
): Promise<RunRow | undefined> {
  return (await sql<RunRow>(FIND_BY_EVENT, [accountId, agentId, eventId]))[0];
}

export interface RunFilter extends TextFilters {
  readonly agentId: string | null;
  readonly threadId: string | null;
  readonly status: string | null;
  readonly channel: string | null;
  readonly from: string | null;
  readonly to: string | null;
  /** Where the page before ended. */
  readonly after: Place | undefined;
  readonly limit: number;
}

/** One text for each order and filter that has an index of its own, so that each keeps a plan of its own. */
function listText({ agentId, threadId, errorText, labels, after }: RunFilter): string {
  const oldestFirst = threadId !== null;
  const beyond = oldestFirst ? '>' : '<';
  const direction = oldestFirst ? 'ASC' : 'DESC';
  return `SELECT ${LISTED}, (extract(epoch FROM created_at) * 1000000)::bigint::text AS micros FROM run
   WHERE account_id = $1 AND ${agentId === null ? '$2::text IS NULL' : 'agent_id = $2'}
     AND ${threadId === null ? '$3::text IS NULL' : '((id = $3 AND thread_id = $3) OR (thread_id = $3 AND thread_id <> id))'}
     AND ($4::text IS NULL OR status = $4) AND ($5::text IS NULL OR channel = $5)
     AND ($6::timestamptz IS NULL OR created_at >= $6) AND ($7::timestamptz IS NULL OR created_at < $7)
     AND ${after ? `(created_at, id) ${beyond} (timestamptz 'epoch' + $8::bigint * interval '1 microsecond', $9)` : '$8::text IS NULL AND $9::text IS NULL'}
     AND ${errorText === null ? '$11::text IS NULL' : 'strpos(lower(error), lower($11)) > 0'}
     AND ${labels === null ? '$12::text IS NULL' : 'labels @> $12::jsonb'}
   ORDER BY created_at ${direction}, id ${direction} LIMIT $10`;
}

export type ListedRun = RunRow & { readonly micros: string };

export async function listRunRows(ctx: OpContext, filter: RunFilter): Promise<ListedRun[]> {
  const { agentId, threadId, status, channel, from, to, errorText, labels, after, limit } = filter;
  const values = [
    ctx.actor.accountId,
    agentId,
    threadId,
    status,
    channel,
    from,
    to,
    after?.micros ?? null,
    after?.id ?? null,
    limit,
    errorText,
    labels,
  ];
  return ctx.sql<ListedRun>(listText(filter), values);
}

const BY_IDS = `SELECT ${LISTED} FROM run WHERE account_id = $1 AND id = ANY ($2)`;

/** As lists show them; who is not there is left out. */
export async function runRowsById(ctx: OpContext, ids: readonly string[]): Promise<RunRow[]> {
  return ctx.sql<RunRow>(BY_IDS, [ctx.actor.accountId, ids]);
}

const CANCEL = moving(
  `UPDATE run SET status = 'cancelled', finished_at = now(), end_code = 'end.cancelled', slot = NULL, last_seq = last_seq + ${END_NUMBERS},
          cancel_requested_at = now(), cancel_reason = $3, cancel_acknowledged_at = CASE WHEN status = 'queued' THEN now() END
    WHERE account_id = $1 AND id = $2 AND status IN ('queued', 'claimed', 'running')`,
  { kept: '*', returned: WHOLE },
);

export async function cancelRunRow(ctx: OpContext, runId: string, reason: string | null): Promise<RunRow | undefined> {
  return (await ctx.sql<RunRow>(CANCEL, [ctx.actor.accountId, runId, reason]))[0];
}

const ACKNOWLEDGE_CANCEL = `
  UPDATE run SET cancel_acknowledged_at = now()
   WHERE account_id = $1 AND id = $2 AND worker_id = $3 AND cancel_requested_at IS NOT NULL AND cancel_acknowledged_at IS NULL`;

/** The worker's own word about a cancelled run came: the cancel need not be repeated. */
export async function acknowledgeCancel(ctx: OpContext, runId: string, workerId: string): Promise<void> {
  await ctx.sql(ACKNOWLEDGE_CANCEL, [ctx.actor.accountId, runId, workerId]);
}

const CANCELS_OF = `
  SELECT id FROM run WHERE account_id = $1 AND worker_id = $2 AND cancel_requested_at > now() - interval '1 hour' AND cancel_acknowledged_at IS NULL
   ORDER BY cancel_requested_at LIMIT 100`;

/** Cancels of the last hour that a worker has not answered. */
export async function unansweredCancels({ sql }: Sql, accountId: string, workerId: string): Promise<string[]> {
  return (await sql<{ id: string }>(CANCELS_OF, [accountId, workerId])).map(({ id }) => id);
}

const LATE = `
  INSERT INTO late_evidence (account_id, run_id, day, id, attempt, worker_id, kind, why, content)
  SELECT account_id, id, day, $3, $4, $5, 'terminal', $6, CASE WHEN is_withheld THEN '{}' ELSE $7::json END FROM run WHERE account_id = $1 AND id = $2
  ON CONFLICT (account_id, run_id, id, day) DO NOTHING`;

export interface LateReport {
  readonly id: string;
  readonly runId: string;
  readonly attempt: number | null;
  readonly workerId: string;
  readonly why: 'stale_attempt' | 'after_end' | 'not_owner';
  readonly content: string;
}

export async function keepLateReport(
  ctx: OpContext,
  { id, runId, attempt, workerId, why, content }: LateReport,
): Promise<void> {
  await ctx.sql(LATE, [ctx.actor.accountId, runId, id, attempt, workerId, why, content]);
}

/** A run as grants know it: it belongs to its agent. */
export const RUN_RESOURCE = `
  SELECT r.id, NULL::text AS name, NULL::jsonb AS labels, json_build_array(json_build_object('kind', 'agent', 'id', o.id, 'name', o.handle, 'labels', o.labels)) AS parents
    FROM run AS r JOIN agent_owner AS o ON o.account_id = r.account_id AND o.id = r.agent_id
   WHERE r.account_id = $1 AND r.id = $2`;
