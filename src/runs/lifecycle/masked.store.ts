import type { OpContext } from '../../platform/operation/operation.ts';

const COUNT = `UPDATE run SET masked = masked + $3 WHERE account_id = $1 AND id = $2`;

/** Adds to what was masked in what was said of a run. */
export async function countMasked(
  { actor, sql }: Pick<OpContext, 'actor' | 'sql'>,
  runId: string,
  masked: number,
): Promise<void> {
  if (masked > 0) await sql(COUNT, [actor.accountId, runId, masked]);
}
