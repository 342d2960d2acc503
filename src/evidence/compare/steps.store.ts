import type { JsonObject } from '../../platform/json/json.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';
import type { Reading, RunPlace } from '../events/log.store.ts';
import { SPAN, type SpanRow } from '../spans/spans.store.ts';

/** A tool or model span with the events at its two ends. */
export interface StepRow extends SpanRow {
  readonly start: JsonObject | null;
  readonly start_truncated: readonly Truncation[] | null;
  readonly end: JsonObject | null;
  readonly end_truncated: readonly Truncation[] | null;
}

const IS_STEP = `kind IN ('tool', 'llm', 'generation')`;
const edge = (name: 'start' | 'end'): string => `
  LEFT JOIN LATERAL (
    SELECT event AS "${name}", truncated AS ${name}_truncated FROM run_log
     WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND seq = span.${name}_seq::bigint) AS ${name}_edge ON true`;
const STEPS = `
  SELECT * FROM (${SPAN} AND first_seq > $4 AND ${IS_STEP} ORDER BY span.first_seq LIMIT $5) AS span ${edge('start')} ${edge('end')}
   ORDER BY span.first_seq`;
const COUNT = `
  SELECT count(*)::int AS count FROM run_span WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND ${IS_STEP}`;
const HASHES = `
  SELECT id, encode(sha256(convert_to(content, 'UTF8')), 'hex') AS hash FROM artifact
   WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND id = ANY ($4)`;

/** The next steps after a number, in the order in which they were first seen. */
export async function readSteps(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  after: number,
  limit: number,
): Promise<StepRow[]> {
  return reading.sql<StepRow>(STEPS, [accountId, runId, day, after, limit]);
}

export async function countSteps(reading: Reading, { accountId, runId, day }: RunPlace): Promise<number> {
  return (await reading.sql<{ count: number }>(COUNT, [accountId, runId, day]))[0]?.count ?? 0;
}

/** What artifacts of a run hash to, by id. */
export async function hashesOf(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await reading.sql<{ id: string; hash: string }>(HASHES, [accountId, runId, day, ids]);
  return new Map(rows.map(({ id, hash }) => [id, hash]));
}
