import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

const SET_LABELS = `
  UPDATE agent SET own_labels = $3::jsonb, updated_at = now()
   WHERE account_id = $1 AND id = $2 AND own_labels IS DISTINCT FROM $3::jsonb RETURNING id`;

/** Whether they were others before. */
export async function setOwnLabels(ctx: OpContext, agentId: string, labels: JsonObject): Promise<boolean> {
  return (await ctx.sql(SET_LABELS, [ctx.actor.accountId, agentId, writeJson(labels)])).length > 0;
}
