/** A state change in the run's sequence: what `run.status` tells live readers. */
function logging({ code, detail }: Why): string {
  return `
  INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, event)
  SELECT account_id, id, day, last_seq, attempt, 'run.status',
         json_build_object('status', status, 'attempt', attempt, 'worker_id', worker_id, 'code', ${code}, 'detail', ${detail})
    FROM moved`;
}
/** What the log needs of a row that was moved. */
export const LOGGED = 'account_id, id, day, last_seq, attempt, status, worker_id, end_code, end_detail, is_withheld';

/** Why a run moved, as SQL over the moved row: a code of the list of `explain`, and what else is to be known. */
interface Why {
  readonly code: string;
  readonly detail: string;
}

/**
 * Runs `change` and logs each row that it moved, in the same statement. `kept` are the columns that leave the change, those of
 * the log among them: a run's row has fifty, some of them long. `returned` is what is answered of them.
 */
export function moving(
  change: string,
  {
    kept,
    returned,
    code = 'end_code',
    detail = 'end_detail',
  }: { readonly kept: string; readonly returned: string } & Partial<Why>,
): string {
  return `WITH moved AS (${change} RETURNING ${kept}), logged AS (${logging({ code, detail })}) SELECT ${returned} FROM moved`;
}
