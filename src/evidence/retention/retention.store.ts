import { EVIDENCE_TABLES } from '../../platform/db/partitions.ts';
import type { Transaction } from '../../platform/db/transaction.ts';

/** What an account does not keep any longer: evidence, and whole runs, of days before these (YYYY-MM-DD). */
export interface Cut {
  readonly account_id: string;
  readonly evidence_from: string | null;
  readonly runs_from: string | null;
}

/** Evidence goes with its run at the latest. */
const CUTS = `
  SELECT account_id, (today - least(evidence_days, runs_days))::text AS evidence_from, (today - runs_days)::text AS runs_from
    FROM account_keeping, (SELECT (now() AT TIME ZONE 'UTC')::date AS today) AS clock
   WHERE evidence_days IS NOT NULL OR runs_days IS NOT NULL`;

export function readCuts(system: Transaction): Promise<Cut[]> {
  return system.query<Cut>({ text: CUTS, values: [] });
}

/** By the names of the partitions, those included that somebody was killed over while they were taken away. */
const DAYS = `
  SELECT DISTINCT to_date(day, 'YYYYMMDD')::text AS day
    FROM pg_class, unnest($2::text[]) AS evidence (name), right(relname, 8) AS day
   WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND relname = evidence.name || '_' || day AND day ~ '^[0-9]{8}$'
     AND day < to_char($1::date, 'YYYYMMDD') ORDER BY 1`;

/** The days before this one of which there may be evidence, the oldest first. */
export async function daysBefore(system: Transaction, day: string): Promise<string[]> {
  const rows = await system.query<{ day: string }>({ text: DAYS, values: [day, EVIDENCE_TABLES] });
  return rows.map((row) => row.day);
}

/** From account to account by the index: a day holds many rows of few accounts. */
const ACCOUNTS = `
  WITH RECURSIVE there AS (
    (SELECT account_id FROM run_log WHERE day = $1::date ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT account_id FROM run_log WHERE day = $1::date AND account_id > there.account_id ORDER BY account_id LIMIT 1)
      FROM there WHERE there.account_id IS NOT NULL)
  SELECT account_id FROM there WHERE account_id IS NOT NULL`;

/** Whose evidence there is of a day. */
export async function accountsOf(system: Transaction, day: string): Promise<string[]> {
  return (await system.query<{ account_id: string }>({ text: ACCOUNTS, values: [day] })).map((row) => row.account_id);
}

/** A run that has not ended, however old it is: nothing of it goes. */
export interface LiveRun {
  readonly id: string;
  readonly day: string;
}

const LIVE = `SELECT id, day::text AS day FROM run_facts WHERE status IN ('queued', 'claimed', 'running') AND day < $1::date`;

export function liveRunsBefore(system: Transaction, day: string): Promise<LiveRun[]> {
  return system.query<LiveRun>({ text: LIVE, values: [day] });
}

/** The tables of evidence, with what makes a row of a run unique in each. */
const TABLES = {
  run_log: 'seq',
  run_span: 'span_id',
  artifact: 'id',
  late_evidence: 'id',
  evidence_text: 'seq, kind',
  run_intake: 'attempt',
} as const;
const ROWS_A_STATEMENT = 5_000;

const FORGET = Object.entries(TABLES).map(
  ([table, key]) => `
  WITH gone AS (
    DELETE FROM ${table} WHERE account_id = $1 AND day = $2::date AND (run_id, ${key}) IN (
      SELECT run_id, ${key} FROM ${table} WHERE account_id = $1 AND day = $2::date AND run_id <> ALL ($3::text[]) LIMIT ${ROWS_A_STATEMENT})
    RETURNING 1)
  SELECT count(*)::int AS count FROM gone`,
);

/** Deletes a part of an account's evidence of a day. Answers how many rows; 0: there is none left. */
export async function forgetSome(
  system: Transaction,
  accountId: string,
  day: string,
  except: readonly string[],
): Promise<number> {
  for (const text of FORGET) {
    const [row] = await system.query<{ count: number }>({ text, values: [accountId, day, except] });
    if (row && row.count > 0) return row.count;
  }
  return 0;
}
