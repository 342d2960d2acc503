import type { Transaction } from '../../platform/db/transaction.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';
import type { Reading, RunPlace } from '../events/log.store.ts';
import type { Kept } from './calls.policy.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

/** A tool call that has ended, with the events at its two ends. */
export interface CallRow {
  readonly span_id: string;
  readonly name: string;
  readonly status: string | null;
  readonly first_seq: number;
  readonly bytes: number;
  readonly start: JsonObject | null;
  readonly start_truncated: readonly Truncation[] | null;
  readonly end: JsonObject | null;
  readonly end_truncated: readonly Truncation[] | null;
  readonly is_masked: boolean;
}

/** Of the run's last attempt: what an earlier one did is no answer to this one. */
const CALLS = `FROM run_span WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND kind = 'tool' AND end_seq IS NOT NULL AND attempt = $4`;
const edge = (name: 'start' | 'end'): string => `
  LEFT JOIN LATERAL (
    SELECT event AS "${name}", truncated AS ${name}_truncated, masked IS NOT NULL AS ${name}_masked FROM run_log
     WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND seq = call.${name}_seq) AS ${name}_edge ON true`;
const read = (condition: string): string => `
  SELECT span_id, name, status, first_seq::float8 AS first_seq, bytes, "start", start_truncated, "end", end_truncated,
         coalesce(start_masked, false) OR coalesce(end_masked, false) AS is_masked
    FROM (SELECT * ${CALLS} AND ${condition} ORDER BY first_seq LIMIT $6) AS call ${edge('start')} ${edge('end')}
   ORDER BY first_seq`;
const AFTER = read('first_seq > $5');
const OF_TOOL = read('first_seq > $5 AND name = $7');
const BEFORE = `SELECT count(*)::int AS count ${CALLS} AND ($5::bigint IS NULL OR first_seq < $5)`;

export interface Recording {
  readonly place: RunPlace;
  readonly attempt: number;
}

function at({ place: { accountId, runId, day }, attempt }: Recording): unknown[] {
  return [accountId, runId, day, attempt];
}

/** The next calls after a number, in the order in which they were first seen. */
export async function callsAfter(
  reading: Reading,
  recording: Recording,
  { after, limit, tool }: { readonly after: number; readonly limit: number; readonly tool?: string },
): Promise<CallRow[]> {
  const values = [...at(recording), after, limit];
  return tool === undefined ? reading.sql<CallRow>(AFTER, values) : reading.sql<CallRow>(OF_TOOL, [...values, tool]);
}

/** How many calls there are before a number, or in all. */
export async function countCalls(reading: Reading, recording: Recording, before: number | null): Promise<number> {
  return (await reading.sql<{ count: number }>(BEFORE, [...at(recording), before]))[0]?.count ?? 0;
}

const KEPT = `
  SELECT id, content, mime_type FROM artifact
   WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND id = ANY ($4::text[]) AND NOT is_cut`;

/** What is kept apart from its event, where it is whole. */
export async function keptWhole(
  reading: Reading,
  { accountId, runId, day }: RunPlace,
  ids: readonly string[],
): Promise<Kept> {
  if (ids.length === 0) return new Map();
  const values = [accountId, runId, day, ids];
  const rows = await reading.sql<{ id: string; content: string; mime_type: string }>(KEPT, values);
  return new Map(rows.map((row) => [row.id, { text: row.content, isJson: row.mime_type === 'application/json' }]));
}

/** Questions of one run are answered one after the other, or two equal ones would get the same answer. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('replay of ' || $1 || '/' || $2, 0))`;
const USED = `SELECT seq::float8 AS seq, frame_id FROM replay_answer WHERE account_id = $1 AND run_id = $2 AND attempt = $3`;

export interface UsedCall {
  readonly seq: number;
  readonly frame_id: string;
}

/** Which recorded calls the run was answered with in this attempt. */
export async function lockUsed({ actor, sql }: Asking, runId: string, attempt: number): Promise<UsedCall[]> {
  await sql(LOCK, [actor.accountId, runId]);
  return sql<UsedCall>(USED, [actor.accountId, runId, attempt]);
}

const USE = `INSERT INTO replay_answer (account_id, run_id, attempt, seq, frame_id) VALUES ($1, $2, $3, $4, $5)`;

export async function useCall(
  { actor, sql }: Asking,
  runId: string,
  attempt: number,
  { seq, frame_id }: UsedCall,
): Promise<void> {
  await sql(USE, [actor.accountId, runId, attempt, seq, frame_id]);
}

const ROWS_A_STATEMENT = 1_000;
const FORGET = `
  WITH gone AS (
    DELETE FROM replay_answer WHERE (account_id, run_id, attempt, seq) IN (
      SELECT account_id, run_id, attempt, seq FROM replay_answer AS a
       WHERE account_id = $1 AND created_at < $2::timestamptz
         AND NOT EXISTS (SELECT FROM run_facts AS run WHERE run.account_id = a.account_id AND run.id = a.run_id) LIMIT ${ROWS_A_STATEMENT})
    RETURNING 1)
  SELECT count(*)::int AS count FROM gone`;

/** Deletes some of what replays that are gone were answered with before this day (YYYY-MM-DD). */
export async function forgetReplayAnswers(system: Transaction, accountId: string, before: string): Promise<number> {
  return (await system.query<{ count: number }>({ text: FORGET, values: [accountId, before] }))[0]?.count ?? 0;
}
