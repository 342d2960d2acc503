import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

/** Left out, the skills are those of the version before. */
const ADD = `
  INSERT INTO agent_generation (account_id, agent_id, generation, fingerprint, manifest, skills, card_hash, skills_hash, first_worker_id)
  SELECT $1, $2, coalesce(max(generation), 0) + 1, $3, $4::jsonb,
         coalesce($5::jsonb, (array_agg(skills ORDER BY generation DESC))[1], '[]'),
         encode(sha256(convert_to(coalesce($4::jsonb -> 'agent_card', '{}')::text, 'UTF8')), 'hex'), $6, $7
    FROM agent_generation WHERE account_id = $1 AND agent_id = $2
  ON CONFLICT (account_id, agent_id, fingerprint) DO NOTHING`;
const TAKE = `
  UPDATE agent AS a SET generation = g.generation FROM agent_generation AS g
   WHERE a.account_id = $1 AND a.id = $2 AND g.account_id = $1 AND g.agent_id = $2 AND g.fingerprint = $3
  RETURNING g.generation`;

/** What a version is made of. */
export interface Described {
  readonly manifest: JsonObject;
  readonly skills: readonly unknown[] | undefined;
  readonly skillsHash: string;
  readonly workerId: string;
}

/** The version that a fingerprint is: a new one, or one that was there before. The caller holds the agent's row. */
export async function takeGeneration(
  { actor, sql }: Asking,
  fingerprint: Buffer,
  { manifest, skills, skillsHash, workerId }: Described,
): Promise<number> {
  const key = [actor.accountId, actor.id, fingerprint];
  const said = [writeJson(manifest), skills === undefined ? null : writeJson(skills), skillsHash || null, workerId];
  const [, [row]] = await Promise.all([sql(ADD, [...key, ...said]), sql<{ generation: number }>(TAKE, key)]);
  return row?.generation ?? 0;
}

export interface GenerationRow {
  readonly agent_id: string;
  readonly generation: number;
  readonly card_hash: string;
  readonly skills_hash: string | null;
  readonly first_worker_id: string | null;
  readonly created_at: Date;
  readonly version: string | null;
  readonly source_commit: string | null;
  readonly source_dirty: string | null;
}

const COLUMNS = `agent_id, generation, card_hash, skills_hash, first_worker_id, created_at, manifest ->> 'version' AS version,
         manifest ->> 'source_commit' AS source_commit, manifest ->> 'source_dirty' AS source_dirty`;
const LIST = `
  SELECT ${COLUMNS} FROM agent_generation
   WHERE account_id = $1 AND agent_id = $2 AND generation > $3 ORDER BY generation LIMIT $4`;

/** The oldest first; without a limit all of them. */
export async function listGenerations(
  { actor, sql }: Asking,
  agentId: string,
  page: { readonly after: number; readonly limit: number | undefined },
): Promise<GenerationRow[]> {
  return sql<GenerationRow>(LIST, [actor.accountId, agentId, page.after, page.limit ?? null]);
}

/** A version with what its first worker said: of its skills the names only. */
export interface WholeGeneration extends GenerationRow {
  readonly manifest: JsonObject;
  readonly skills: readonly { readonly skill_id: string; readonly name: string; readonly md5: string }[];
}

const WHOLE = `
  SELECT ${COLUMNS}, manifest, (
           SELECT coalesce(jsonb_agg(jsonb_build_object(
                    'skill_id', coalesce(said.skill_id, ''), 'name', coalesce(said.name, ''), 'md5', coalesce(said.md5, ''))), '[]')
             FROM jsonb_to_recordset(skills) AS said (skill_id text, name text, md5 text)) AS skills
    FROM agent_generation WHERE account_id = $1 AND agent_id = $2 AND generation = ANY ($3::int[])`;

export async function wholeGenerations(
  { actor, sql }: Asking,
  agentId: string,
  generations: readonly number[],
): Promise<WholeGeneration[]> {
  return sql<WholeGeneration>(WHOLE, [actor.accountId, agentId, generations]);
}
