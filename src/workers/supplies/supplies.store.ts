import type { OpContext } from '../../platform/operation/operation.ts';

const OF_MINE = 'WHERE account_id = $1 AND id = $2 AND agent_id = $3';
const GATEWAYS_KEPT = 20;
/** One entry for each address, the newest first. */
const NOTE_MODELS = `
  UPDATE worker SET models = (
    SELECT jsonb_agg(kept.entry ORDER BY kept.place) FROM (
      SELECT entry, place FROM jsonb_array_elements($4::jsonb || models) WITH ORDINALITY AS known (entry, place)
       WHERE place = 1 OR entry ->> 'base_url' <> $4::jsonb -> 0 ->> 'base_url'
       ORDER BY place LIMIT ${GATEWAYS_KEPT}) AS kept)
  ${OF_MINE}`;

export async function noteModels(ctx: OpContext, workerId: string, entry: object): Promise<void> {
  await ctx.sql(NOTE_MODELS, [ctx.actor.accountId, workerId, ctx.actor.id, JSON.stringify([entry])]);
}
