import type { OpContext } from '../../platform/operation/operation.ts';
import { LISTED, type RunRow } from '../lifecycle/lifecycle.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

const BY_IDS = `SELECT ${LISTED} FROM run WHERE account_id = $1 AND id = ANY ($2::text[]) ORDER BY created_at, id`;
/** Two looks at two indexes: together in one condition they would be none. */
const CHILDREN = `
  SELECT ${LISTED} FROM run WHERE account_id = $1 AND id IN (
    (SELECT id FROM run WHERE account_id = $1 AND parent_run_id = ANY ($2::text[]) ORDER BY created_at, id LIMIT $3)
    UNION
    (SELECT id FROM run WHERE account_id = $1 AND revived_from = ANY ($2::text[]) ORDER BY created_at, id LIMIT $3))
   ORDER BY created_at, id LIMIT $3`;

/** Runs as lists show them. */
export async function runsByIds({ actor, sql }: Sql, ids: readonly string[]): Promise<RunRow[]> {
  return ids.length === 0 ? [] : sql<RunRow>(BY_IDS, [actor.accountId, ids]);
}

/** What was begun by some runs, or went on from them: the oldest first. */
export async function childrenOf({ actor, sql }: Sql, ids: readonly string[], limit: number): Promise<RunRow[]> {
  return ids.length === 0 ? [] : sql<RunRow>(CHILDREN, [actor.accountId, ids, limit]);
}

const WITH_OTHERS = `
  SELECT one.id FROM unnest($2::text[]) AS one (id)
   WHERE EXISTS (SELECT FROM run WHERE account_id = $1 AND parent_run_id = one.id AND run.id <> ALL ($3::text[]))
      OR EXISTS (SELECT FROM run WHERE account_id = $1 AND revived_from = one.id AND run.id <> ALL ($3::text[]))`;

/** Which of some runs began one, or went on in one, that is not among `shown`. */
export async function withOthersBelow(
  { actor, sql }: Sql,
  ids: readonly string[],
  shown: readonly string[],
): Promise<string[]> {
  return (await sql<{ id: string }>(WITH_OTHERS, [actor.accountId, ids, shown])).map(({ id }) => id);
}
