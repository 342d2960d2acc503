import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { RunPlace } from '../events/log.store.ts';

type Sql = Pick<OpContext, 'actor' | 'sql'>;

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

export interface SkillRow {
  readonly agent_id: string;
  readonly created_at: Date;
  readonly skill: JsonObject;
}

/** Of each agent what its newest generation has. */
const MATCHING = `
  SELECT agent_id, created_at, skill FROM agent_skills AS one
   WHERE account_id = $1 AND (skill ->> 'name' = ANY ($2::text[]) OR skill ->> 'skill_id' = ANY ($2::text[]))
     AND generation = (SELECT max(generation) FROM agent_skills AS other WHERE other.account_id = $1 AND other.agent_id = one.agent_id)
   ORDER BY agent_id, skill ->> 'skill_id' LIMIT 1000`;

export async function skillsNamed({ actor, sql }: Sql, names: readonly string[]): Promise<SkillRow[]> {
  return names.length === 0 ? [] : sql<SkillRow>(MATCHING, [actor.accountId, names]);
}
