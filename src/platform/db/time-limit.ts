import type { FaultType } from '../faults/faults.ts';
import { isTimeout } from './database-errors.ts';

/** The face of an operation that reads. */
interface Reading {
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

/**
 * Reads what may turn out to be too much for one answer: no statement of it takes longer than `seconds`, and for the rest of the
 * transaction none does.
 * @throws Fault `tooSlow` where one would have.
 */
export async function withinTime<Result>(
  reading: Reading,
  seconds: number,
  tooSlow: FaultType,
  read: () => Promise<Result>,
): Promise<Result> {
  try {
    await reading.sql(`SELECT set_config('statement_timeout', $1, true)`, [String(Math.ceil(seconds * 1_000))]);
    return await read();
  } catch (error) {
    throw isTimeout(error) ? tooSlow({ cause: error }) : error;
  }
}
