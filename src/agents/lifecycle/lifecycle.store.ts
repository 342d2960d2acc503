import type { OpContext } from '../../platform/operation/operation.ts';

const ENABLE = `
  UPDATE agent SET is_enabled = $3, updated_at = now() WHERE account_id = $1 AND id = $2 AND is_enabled <> $3 RETURNING id`;
const ARCHIVE = `
  UPDATE agent SET archived_at = now(), updated_at = now() WHERE account_id = $1 AND id = $2 AND archived_at IS NULL RETURNING id`;
const UNARCHIVE = `
  UPDATE agent SET archived_at = NULL, updated_at = now() WHERE account_id = $1 AND id = $2 AND archived_at IS NOT NULL RETURNING id`;

/** Whether it was otherwise before. */
export async function setEnabled(ctx: OpContext, agentId: string, isEnabled: boolean): Promise<boolean> {
  return (await ctx.sql(ENABLE, [ctx.actor.accountId, agentId, isEnabled])).length > 0;
}

/** Whether it was otherwise before. */
export async function setArchived(ctx: OpContext, agentId: string, isArchived: boolean): Promise<boolean> {
  return (await ctx.sql(isArchived ? ARCHIVE : UNARCHIVE, [ctx.actor.accountId, agentId])).length > 0;
}

/** Stronger than what gives an agent work (`findForWork`) holds, and than what changes it. */
const AWAIT_ORDERS = 'SELECT FROM agent WHERE account_id = $1 AND id = $2 FOR UPDATE';

/** Waits for those who found the agent open to work; of those who come later none holds it. */
export async function awaitOrders(ctx: OpContext, agentId: string): Promise<void> {
  await ctx.sql(AWAIT_ORDERS, [ctx.actor.accountId, agentId]);
}
