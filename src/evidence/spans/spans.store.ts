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

const SPAN = `
  SELECT span_id, parent_span_id, kind, name, status, attempt, first_seq::float8 AS first_seq, changed_seq::float8 AS changed_seq,
         start_seq::float8 AS start_seq, end_seq::float8 AS end_seq, started_at, ended_at, clock_skewed, child_run_id, usage, bytes,
         parent_span_id IS NOT NULL AND NOT EXISTS (
           SELECT FROM run_span AS parent WHERE parent.account_id = $1 AND parent.run_id = $2 AND parent.day = $3::date
              AND parent.span_id = span.parent_span_id) AS orphan
    FROM run_span AS span WHERE account_id = $1 AND run_id = $2 AND day = $3::date`;
const list = (order: 'first_seq' | 'changed_seq'): string => `
  ${SPAN} AND ${order} > $4 AND ($5::text IS NULL OR kind = $5) AND ($6::text IS NULL OR status = $6)
   ORDER BY ${order}, first_seq LIMIT $7`;
const BY_FIRST = list('first_seq');
const BY_CHANGE = list('changed_seq');
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
