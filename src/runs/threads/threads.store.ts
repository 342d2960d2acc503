import type { OpContext } from '../../platform/operation/operation.ts';

const SNAPSHOT = 'SELECT snapshot::text AS snapshot FROM run WHERE account_id = $1 AND id = $2';

/** The state of a run's session as JSON. */
export async function readSnapshot(
  { actor, sql }: Pick<OpContext, 'actor' | 'sql'>,
  runId: string,
): Promise<string | null> {
  const [row] = await sql<{ snapshot: string | null }>(SNAPSHOT, [actor.accountId, runId]);
  return row?.snapshot ?? null;
}
