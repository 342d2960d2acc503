import type { Reading, RunPlace } from '../events/log.store.ts';

/** What arrived in one attempt. */
export interface IntakeRow {
  readonly stored: number;
  readonly duplicate: number;
  readonly refused: number;
  readonly refused_codes: Readonly<Record<string, number>>;
  readonly truncated: number;
  readonly altered: number;
  readonly skew_min_ms: number | null;
  readonly skew_max_ms: number | null;
  readonly first_at: Date;
  readonly last_at: Date;
}

export interface GapRow {
  readonly attempt: number;
  readonly from: number;
  readonly to: number;
}

/** What the record itself shows to be missing. */
export interface Findings {
  readonly late: number;
  readonly orphan_spans: number;
  readonly open_spans: number;
  /** Artifacts that were too large to be kept whole. */
  readonly cut_artifacts: number;
}

const INTAKE = `
  SELECT stored::float8 AS stored, duplicate::float8 AS duplicate, refused::float8 AS refused, refused_codes, truncated::float8 AS truncated,
         altered::float8 AS altered, skew_min_ms::float8 AS skew_min_ms, skew_max_ms::float8 AS skew_max_ms, first_at, last_at
    FROM run_intake WHERE account_id = $1 AND run_id = $2 AND day = $3::date`;
/** From 0 to the last one that came: what was lost after it, nobody knows. */
const GAPS = `
  SELECT attempt, lower(gap)::float8 AS "from", (upper(gap) - 1)::float8 AS "to"
    FROM run_intake, unnest(int8multirange(int8range(0, upper(batches))) - batches) AS gap
   WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND NOT isempty(batches) ORDER BY attempt, lower(gap)`;
/** Both counts of spans in one walk over the run. Parents are looked up by themselves: a join of a young table is quadratic. */
const FINDINGS = `
  SELECT (SELECT count(*)::int FROM late_evidence WHERE account_id = $1 AND run_id = $2 AND day = $3::date) AS late,
         (SELECT count(*)::int FROM artifact WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND is_cut) AS cut_artifacts,
         spans.*
    FROM (SELECT count(*) FILTER (WHERE span.end_seq IS NULL)::int AS open_spans,
                 count(*) FILTER (WHERE span.parent_span_id IS NOT NULL AND (
                   SELECT true FROM run_span AS parent WHERE parent.account_id = $1 AND parent.run_id = $2 AND parent.day = $3::date
                      AND parent.span_id = span.parent_span_id) IS NULL)::int AS orphan_spans
            FROM run_span AS span
           WHERE span.account_id = $1 AND span.run_id = $2 AND span.day = $3::date) AS spans`;

export async function readIntake(reading: Reading, { accountId, runId, day }: RunPlace): Promise<IntakeRow[]> {
  return reading.sql<IntakeRow>(INTAKE, [accountId, runId, day]);
}

export async function readGaps(reading: Reading, { accountId, runId, day }: RunPlace): Promise<GapRow[]> {
  return reading.sql<GapRow>(GAPS, [accountId, runId, day]);
}

export async function readFindings(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
): Promise<Findings | undefined> {
  return (await reading.sql<Findings>(FINDINGS, [accountId, runId, day]))[0];
}
