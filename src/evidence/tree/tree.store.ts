import type { OpContext } from '../../platform/operation/operation.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

/** A span of the one run called the other. */
export interface Delegation {
  readonly run_id: string;
  readonly child_run_id: string;
}

/** A run has at most so many days between its creation and its last span. */
const LONGEST_DAYS = 62;
const CALLED = `
  SELECT DISTINCT run_id, child_run_id FROM run_span
   WHERE account_id = $1 AND run_id = ANY ($2::text[]) AND child_run_id IS NOT NULL LIMIT $3`;
const CALLERS = `
  SELECT run_id, child_run_id FROM run_span
   WHERE account_id = $1 AND child_run_id = $2 AND day BETWEEN $3::date - ${LONGEST_DAYS} AND $3::date AND run_id <> $2 ORDER BY run_id LIMIT 1`;

/** Which runs some runs called, as their spans tell. */
export async function calledBy({ actor, sql }: Sql, runIds: readonly string[], limit: number): Promise<Delegation[]> {
  return runIds.length === 0 ? [] : sql<Delegation>(CALLED, [actor.accountId, runIds, limit]);
}

/** The run that called one which does not know its caller. */
export async function callerOf({ actor, sql }: Sql, runId: string, day: string): Promise<string | undefined> {
  return (await sql<Delegation>(CALLERS, [actor.accountId, runId, day]))[0]?.run_id;
}

const WITH_OTHERS = `
  SELECT one.id FROM unnest($2::text[]) AS one (id) WHERE EXISTS (
    SELECT FROM run_span JOIN run_facts AS child ON child.account_id = $1 AND child.id = child_run_id
     WHERE run_span.account_id = $1 AND run_id = one.id AND child_run_id IS NOT NULL AND child_run_id <> ALL ($3::text[]))`;

/** Which of some runs called one that is not among `shown`. */
export async function callersOfOthers(
  { actor, sql }: Sql,
  runIds: readonly string[],
  shown: readonly string[],
): Promise<string[]> {
  return (await sql<{ id: string }>(WITH_OTHERS, [actor.accountId, runIds, shown])).map(({ id }) => id);
}
