import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

/** A skill as one agent has it now. */
export interface SkillRow {
  readonly skill_id: string;
  readonly agent_id: string;
  readonly generation: number;
  readonly name: string;
  readonly description: string;
  readonly tags: unknown;
  readonly md5: string;
  readonly path: string | null;
  readonly version: string | null;
  readonly updated_at: Date;
}

/** What has no id, or one that is no name any more, cannot be asked for. Of two with one id the first counts. */
const SAID = `
  SELECT DISTINCT ON (said.skill_id) said.*
    FROM agent_generation AS g,
         ROWS FROM (jsonb_to_recordset(g.skills) AS (skill_id text, name text, description text, tags jsonb, md5 text, path text, version text))
           WITH ORDINALITY AS said (skill_id, name, description, tags, md5, path, version, place)
   WHERE g.account_id = $1 AND g.agent_id = $2 AND g.generation = $3 AND said.skill_id <> '' AND length(said.skill_id) <= 500
   ORDER BY said.skill_id, said.place`;
const FOLLOW = `
  WITH said AS (${SAID}),
  gone AS (DELETE FROM agent_skill WHERE account_id = $1 AND agent_id = $2 AND skill_id NOT IN (SELECT skill_id FROM said))
  INSERT INTO agent_skill AS known (account_id, agent_id, skill_id, generation, name, description, tags, md5, path, version)
  SELECT $1, $2, skill_id, $3, coalesce(name, ''), coalesce(description, ''), coalesce(tags, '[]'), coalesce(md5, ''), path, version FROM said
  ON CONFLICT (account_id, agent_id, skill_id) DO UPDATE SET
    generation = excluded.generation, name = excluded.name, description = excluded.description, tags = excluded.tags, md5 = excluded.md5,
    path = excluded.path, version = excluded.version,
    updated_at = CASE WHEN known.md5 = excluded.md5 THEN known.updated_at ELSE excluded.updated_at END`;

/** Makes an agent's skills those of the generation that it is in. The caller holds the agent's row. */
export async function followSkills({ actor, sql }: Asking, agentId: string, generation: number): Promise<void> {
  await sql(FOLLOW, [actor.accountId, agentId, generation]);
}

const COLUMNS =
  's.skill_id, s.agent_id, s.generation, s.name, s.description, s.tags, s.md5, s.path, s.version, s.updated_at';
const FROM = 'FROM agent_skill AS s WHERE s.account_id = $1';
/** Those of archived agents only where one is asked about. */
const LIST = `
  SELECT ${COLUMNS} FROM agent_skill AS s JOIN agent AS a ON a.account_id = s.account_id AND a.id = s.agent_id
   WHERE s.account_id = $1 AND CASE WHEN $2::text IS NULL THEN a.archived_at IS NULL ELSE a.id = $2 END
   ORDER BY s.skill_id, s.updated_at DESC, s.agent_id`;
const OF_ID = `SELECT ${COLUMNS} ${FROM} AND s.skill_id = $2 ORDER BY s.updated_at DESC, s.agent_id`;
const NAMED = `
  SELECT ${COLUMNS} ${FROM} AND (s.name = ANY ($2::text[]) OR s.skill_id = ANY ($2::text[]))
   ORDER BY s.skill_id, s.updated_at DESC, s.agent_id LIMIT 1000`;

/** By skill; of each the newest first. */
export async function listSkillRows({ actor, sql }: Asking, agentId: string | null): Promise<SkillRow[]> {
  return sql<SkillRow>(LIST, [actor.accountId, agentId]);
}

export async function skillRowsOf({ actor, sql }: Asking, skillId: string): Promise<SkillRow[]> {
  return sql<SkillRow>(OF_ID, [actor.accountId, skillId]);
}

/** Those with one of these names or ids. */
export async function skillRowsNamed({ actor, sql }: Asking, names: readonly string[]): Promise<SkillRow[]> {
  return names.length === 0 ? [] : sql<SkillRow>(NAMED, [actor.accountId, names]);
}

const WHOLE = `
  SELECT skill.value AS skill FROM agent_generation AS g, jsonb_array_elements(g.skills) WITH ORDINALITY AS skill (value, place)
   WHERE g.account_id = $1 AND g.agent_id = $2 AND g.generation = $3 AND skill.value ->> 'skill_id' = $4
   ORDER BY skill.place LIMIT 1`;

/** All that the worker said of it. */
export async function wholeSkill(
  { actor, sql }: Asking,
  { agent_id, generation, skill_id }: SkillRow,
): Promise<JsonObject> {
  const rows = await sql<{ skill: JsonObject }>(WHOLE, [actor.accountId, agent_id, generation, skill_id]);
  return rows[0]?.skill ?? {};
}
