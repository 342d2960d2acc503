import type { Reading, RunPlace } from '../events/log.store.ts';
import type { Usage } from '../usage/usage.policy.ts';

export interface SpanRow {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly kind: string;
  readonly name: string;
  readonly status: string | null;
  readonly attempt: number;
  readonly first_seq: number;
  readonly changed_seq: number;
  readonly start_seq: number | null;
  readonly end_seq: number | null;
  readonly started_at: Date | null;
  readonly ended_at: Date | null;
  readonly clock_skewed: boolean;
  readonly child_run_id: string | null;
  readonly usage: Usage | null;
  readonly bytes: number;
  /** Its parent is not known, or not yet. */
  readonly orphan: boolean;
}

/** A parent is looked up by itself, at most once a span of the page: a join would read all spans of the run for each page. */
export const SPAN = `
  SELECT span_id, parent_span_id, kind, name, status, attempt, first_seq::float8 AS first_seq, changed_seq::float8 AS changed_seq,
         start_seq::float8 AS start_seq, end_seq::float8 AS end_seq, started_at, ended_at, clock_skewed, child_run_id, usage, bytes,
         parent_span_id IS NOT NULL AND (
           SELECT true FROM run_span AS parent WHERE parent.account_id = $1 AND parent.run_id = $2 AND parent.day = $3::date
              AND parent.span_id = span.parent_span_id) IS NULL AS orphan
    FROM run_span AS span WHERE account_id = $1 AND run_id = $2 AND day = $3::date`;
const WANTED = `($5::text IS NULL OR kind = $5) AND ($6::text IS NULL OR status = $6)`;
const BY_FIRST = `${SPAN} AND first_seq > $4 AND ${WANTED} ORDER BY span.first_seq LIMIT $7`;
/**
 * The order of changes has no index, because each end of a span would have to rewrite its place in it. The last edge of a
 * span is a row of the sequence, so that is walked instead, from the number on.
 */
const BY_CHANGE = `
  SELECT span.* FROM run_log AS edge CROSS JOIN LATERAL (
    ${SPAN} AND span_id = edge.event ->> 'span_id' AND changed_seq = edge.seq AND ${WANTED} OFFSET 0) AS span
   WHERE edge.account_id = $1 AND edge.run_id = $2 AND edge.day = $3::date AND edge.seq > $4 AND edge.type IN ('span.started', 'span.ended')
   ORDER BY edge.seq LIMIT $7`;
const FIND = `${SPAN} AND span_id = $4`;

export interface SpanFilter {
  readonly order: 'first_seq' | 'changed_seq';
  readonly after: number;
  readonly kind: string | null;
  readonly status: string | null;
  readonly limit: number;
}

export async function spanRows(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  { order, after, kind, status, limit }: SpanFilter,
): Promise<SpanRow[]> {
  return reading.sql<SpanRow>(order === 'first_seq' ? BY_FIRST : BY_CHANGE, [
    accountId,
    runId,
    day,
    after,
    kind,
    status,
    limit,
  ]);
}

/** Only inside its run: another run's span is none. */
export async function findSpan(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  spanId: string,
): Promise<SpanRow | undefined> {
  return (await reading.sql<SpanRow>(FIND, [accountId, runId, day, spanId]))[0];
}
