import type { OpContext } from '../../platform/operation/operation.ts';
import type { RunPlace } from '../events/log.store.ts';

type Sql = Pick<OpContext, 'sql'>;

/** A run that names more of them says nothing with the rest. */
const MOST_SKILLS = 100;
const USED = `
  SELECT DISTINCT left(event #>> '{payload,skill_name}', 500) AS name FROM run_log
   WHERE account_id = $1 AND run_id = $2 AND day = $3::date AND type IN ('span.started', 'span.ended')
     AND event #>> '{payload,skill_name}' IS NOT NULL ORDER BY 1 LIMIT ${MOST_SKILLS}`;

/** The skills of a run as its worker called them. */
export async function usedSkills({ sql }: Sql, { accountId, runId, day }: RunPlace): Promise<string[]> {
  return (await sql<{ name: string }>(USED, [accountId, runId, day])).map(({ name }) => name);
}
