import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

export interface NewDraft {
  readonly agentId: string;
  readonly handle: string;
  readonly name: string;
  readonly config: JsonObject;
}

const INSERT = `
  INSERT INTO agent (account_id, id, handle, name, tools, draft_config) VALUES ($1, $2, $3, $4, '{}', $5::json)
  ON CONFLICT DO NOTHING RETURNING id`;

/** Whether it was made: there may be an agent already, or its worker's registration may come first. */
export async function insertDraft(ctx: OpContext, { agentId, handle, name, config }: NewDraft): Promise<boolean> {
  const rows = await ctx.sql(INSERT, [ctx.actor.accountId, agentId, handle, name, writeJson(config)]);
  return rows.length > 0;
}

const IS_DRAFT = 'SELECT generation = 0 AS is_draft FROM agent WHERE account_id = $1 AND id = $2';

/** Undefined: there is no such agent. */
export async function isDraft(ctx: OpContext, agentId: string): Promise<boolean | undefined> {
  return (await ctx.sql<{ is_draft: boolean }>(IS_DRAFT, [ctx.actor.accountId, agentId]))[0]?.is_draft;
}

/** Guarded, so that what is typed on while the first worker registers changes nothing of the live agent. */
const UPDATE = `
  UPDATE agent SET name = coalesce($3, name), draft_config = coalesce($4::json, draft_config), updated_at = now()
   WHERE account_id = $1 AND id = $2 AND generation = 0 RETURNING id`;

/** False where it is no draft. Null: stays as it is. */
export async function setDraft(
  ctx: OpContext,
  agentId: string,
  { name, config }: { readonly name: string | null; readonly config: JsonObject | null },
): Promise<boolean> {
  const rows = await ctx.sql(UPDATE, [ctx.actor.accountId, agentId, name, config && writeJson(config)]);
  return rows.length > 0;
}
