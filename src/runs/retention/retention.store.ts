import type { Transaction } from '../../platform/db/transaction.ts';

const RUNS_A_STATEMENT = 1_000;

/** The index of the list finds them by the time of their creation; `day` is that time's. */
const FORGET = `
  WITH gone AS (
    DELETE FROM run WHERE (account_id, id) IN (
      SELECT account_id, id FROM run WHERE account_id = $1 AND created_at < $2::timestamptz AND day < $2::date AND finished_at IS NOT NULL
       ORDER BY created_at, id LIMIT ${RUNS_A_STATEMENT} FOR UPDATE SKIP LOCKED)
    RETURNING 1)
  SELECT count(*)::int AS count FROM gone`;

/** Deletes some of an account's runs that have ended and are of days before this one (YYYY-MM-DD). Their evidence must be gone before. */
export async function forgetRuns(system: Transaction, accountId: string, before: string): Promise<number> {
  const [row] = await system.query<{ count: number }>({ text: FORGET, values: [accountId, before] });
  return row?.count ?? 0;
}
