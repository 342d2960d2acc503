import type { OpContext } from '../../platform/operation/operation.ts';
import { handedOut } from '../../vault/index.ts';
import type { BatchColumns } from './batch.policy.ts';
import { withoutContent } from './withheld.store.ts';
import type { Tally } from './tally.policy.ts';
import { tallyValues, tallying } from './tally.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** Who says that a batch is theirs: only the holder of a run, in its attempt, adds to it. */
export interface Sender {
  readonly runId: string;
  readonly agentId: string;
  readonly workerId: string;
  /** Null: whatever attempt this worker holds. */
  readonly attempt: number | null;
  /** The batch's number in the worker's own stream. */
  readonly streamSeq: number | null;
}

export interface Appended {
  /** The number before the batch's first one. */
  readonly base: number;
  readonly at: Date;
  /** Where the run's evidence is. */
  readonly day: string;
  readonly attempt: number;
  /** Null: all of them were new. Otherwise the places of those that were; the caller then keeps none of it. */
  readonly fresh: readonly number[] | null;
  /** Where the run's usage comes from now. */
  readonly usage_source: 'total' | 'spans' | null;
}

const HANDED_OUT = handedOut({ account: '$1', run: '$2', agent: '$3', worker: '$4' });

/**
 * All of the batch that touches the run, whose row lock makes the numbers one sequence: it is taken before the numbers are
 * and kept until the commit, so whoever sees a number sees all before it. A batch that was masked by less than what was handed
 * out by now, or without knowing what is undecided before it, is not taken.
 */
const HELD = `
  held AS (
    UPDATE run SET
      last_seq = last_seq + $7,
      tool_calls = tool_calls + $8,
      usage = coalesce($9::jsonb, usage),
      usage_source = CASE WHEN $9::jsonb IS NULL THEN usage_source ELSE 'total' END,
      output = CASE WHEN is_withheld THEN output ELSE coalesce($10::json, output) END,
      output_bytes = CASE WHEN is_withheld THEN output_bytes ELSE coalesce($11, output_bytes) END
     WHERE account_id = $1 AND id = $2 AND agent_id = $3 AND worker_id = $4 AND status IN ('claimed', 'running')
       AND ($5::int IS NULL OR attempt = $5) AND tails_version = $23 AND ${HANDED_OUT} = $24
    RETURNING day, attempt, last_seq - $7 AS base, usage_source, is_withheld)`;

/**
 * Lists come in through a subquery that the planner cannot look into: where it sees their length, it finds a plan made for
 * this one call a little cheaper than the kept one, and then plans anew each time, which costs three times the statement.
 */
const LOGGED = `
  logged AS (
    INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, identity, stream_seq, event, altered, truncated, masked)
    SELECT $1, $2, held.day, held.base + place, held.attempt, type, substring(identities FROM place::int * 16 - 15 FOR 16), $6::int,
           CASE WHEN held.is_withheld THEN ${withoutContent('event::json')} ELSE event::json END,
           CASE WHEN marks IS NOT NULL THEN ARRAY(SELECT jsonb_array_elements_text(marks -> place::text -> 'altered')) END,
           marks -> place::text -> 'truncated', marks -> place::text -> 'masked'
      FROM held, (SELECT $12::text AS lines, $13::text[] AS types, $14::bytea AS identities, $15::jsonb AS marks OFFSET 0) AS given,
           unnest(string_to_array(lines, E'\\n'), types) WITH ORDINALITY AS item (event, type, place)
     WHERE event <> ''
    ON CONFLICT (account_id, run_id, identity, day) WHERE identity IS NOT NULL DO NOTHING
    RETURNING seq)`;

/** A worker's clock is off when it is further ahead of ours than any network takes, or further behind than any batch waits. */
const isOff = (milliseconds: string): string =>
  `${milliseconds} > extract(epoch FROM now()) * 1000 + 5000 OR ${milliseconds} < extract(epoch FROM now()) * 1000 - 60000`;
/** What a start says about its span counts whenever it comes; of two equal ends the first one stays. */
const ofStart = (column: string): string =>
  `${column} = CASE WHEN span.start_seq IS NULL AND excluded.start_seq IS NOT NULL THEN excluded.${column} ELSE span.${column} END`;
const ofEnd = (column: string): string =>
  `${column} = CASE WHEN span.end_seq IS NULL THEN excluded.${column} ELSE span.${column} END`;

const spans = (parameter: string): string => `
  spans AS (
    INSERT INTO run_span AS span (account_id, run_id, day, span_id, parent_span_id, kind, name, status, attempt, first_seq, changed_seq,
                                  start_seq, end_seq, started_at, ended_at, clock_skewed, child_run_id, usage, bytes)
    SELECT $1, $2, held.day, span_id, parent_span_id, kind, name, status, held.attempt, held.base + first_place, held.base + last_place,
           held.base + start_place, held.base + end_place, to_timestamp(started_ms / 1000), to_timestamp(ended_ms / 1000),
           coalesce(${isOff('started_ms')} OR ${isOff('ended_ms')} OR ended_ms < started_ms, false), child_run_id, usage, bytes
      FROM held, (SELECT ${parameter}::json AS changes OFFSET 0) AS given, json_to_recordset(changes) AS change (
             span_id text, parent_span_id text, kind text, name text, status text, first_place int, last_place int, start_place int,
             end_place int, started_ms float8, ended_ms float8, child_run_id text, usage jsonb, bytes int)
    ON CONFLICT (account_id, run_id, span_id, day) DO UPDATE SET
      ${ofStart('kind')}, ${ofStart('name')}, ${ofStart('started_at')},
      ${ofEnd('status')}, ${ofEnd('usage')}, ${ofEnd('ended_at')},
      parent_span_id = coalesce(span.parent_span_id, excluded.parent_span_id),
      child_run_id = coalesce(span.child_run_id, excluded.child_run_id),
      start_seq = coalesce(span.start_seq, excluded.start_seq),
      end_seq = coalesce(span.end_seq, excluded.end_seq),
      clock_skewed = span.clock_skewed OR excluded.clock_skewed
        OR coalesce(coalesce(span.ended_at, excluded.ended_at) < coalesce(span.started_at, excluded.started_at), false),
      changed_seq = excluded.changed_seq,
      bytes = span.bytes + excluded.bytes)`;

const artifacts = (parameter: string): string => `
  artifacts AS (
    INSERT INTO artifact (account_id, run_id, day, id, name, mime_type, content, bytes, is_cut)
    SELECT $1, $2, held.day, id, name, "mimeType", CASE WHEN held.is_withheld THEN '' ELSE content END, bytes, "isCut"
      FROM held, json_to_recordset(${parameter}::json) AS made (id text, name text, "mimeType" text, content text, bytes int, "isCut" boolean))`;

const TALLIED = `
  tallied AS (${tallying({ from: 'FROM held', day: 'held.day', attempt: 'held.attempt', batch: '$6', stored: '$7::int', first: 16 })})`;

/**
 * A whole batch in one statement: numbers, events, spans, artifacts, counts, and what the run shows of them while it goes on.
 *
 * If an event was there already, the caller rolls back and sends the batch again without the repeats: so a repeat changes
 * nothing at all, and the usual case pays nothing for it.
 */
function statement(hasSpans: boolean, hasArtifacts: boolean): string {
  const parts = [
    HELD,
    LOGGED,
    TALLIED,
    ...(hasSpans ? [spans('$25')] : []),
    ...(hasArtifacts ? [artifacts(hasSpans ? '$26' : '$25')] : []),
  ];
  return `
  WITH ${parts.join(',')}
  SELECT base::float8 AS base, now() AS at, day::text AS day, attempt, usage_source,
         CASE WHEN (SELECT count(*) FROM logged) < $22 THEN ARRAY(SELECT (seq - base)::int FROM logged ORDER BY seq) END AS fresh
    FROM held`;
}

const STATEMENTS = {
  plain: statement(false, false),
  spans: statement(true, false),
  artifacts: statement(false, true),
  both: statement(true, true),
};

/** What a batch was masked by. */
export interface MaskedBy {
  readonly handedOut: string;
  readonly tailsVersion: number;
}

/** Undefined when the sender does not hold the run, or the batch was masked by something else than holds now. */
export async function appendBatch(
  ctx: Sql,
  sender: Sender,
  batch: BatchColumns,
  tally: Tally,
  by: MaskedBy,
): Promise<Appended | undefined> {
  const { runId, agentId, workerId, attempt, streamSeq } = sender;
  const { count, toolCalls, total, output, lines, types, identities, marks } = batch;
  const optional = [batch.spans, batch.artifacts].filter((rows) => rows !== null);
  const text =
    batch.spans === null
      ? batch.artifacts === null
        ? 'plain'
        : 'artifacts'
      : batch.artifacts === null
        ? 'spans'
        : 'both';
  const [row] = await ctx.sql<Appended>(STATEMENTS[text], [
    ...[ctx.actor.accountId, runId, agentId, workerId, attempt, streamSeq],
    ...[count, toolCalls, total, output, output === null ? null : Buffer.byteLength(output)],
    ...[lines, types, identities, marks],
    ...tallyValues(tally),
    ...[batch.stored, by.tailsVersion, by.handedOut],
    ...optional,
  ]);
  return row;
}
