import type { OpContext } from '../../platform/operation/operation.ts';

/** What rows are reached through: an operation's context, or system work. */
export type Rows = Pick<OpContext, 'actor' | 'sql'>;

const FIND = 'SELECT role_id AS "roleId" FROM principal_role WHERE account_id = $1 AND principal_id = $2';
/** Those of one moment keep their order by microseconds. */
const INSERT = `
  INSERT INTO principal_role (account_id, principal_id, role_id, created_at)
  SELECT $1, $2, role_id, clock_timestamp() + place * interval '1 microsecond'
    FROM unnest($3::text[]) WITH ORDINALITY AS given (role_id, place)
  ON CONFLICT DO NOTHING`;
const DELETE = 'DELETE FROM principal_role WHERE account_id = $1 AND principal_id = $2';

/** In the caller's transaction. */
export async function rolesOf(ctx: Rows, principalId: string): Promise<string[]> {
  return (await ctx.sql<{ roleId: string }>(FIND, [ctx.actor.accountId, principalId])).map(({ roleId }) => roleId);
}

export async function insertRoles(ctx: Rows, principalId: string, roleIds: readonly string[]): Promise<void> {
  await ctx.sql(INSERT, [ctx.actor.accountId, principalId, roleIds]);
}

const LOCK_ADMINS = `SELECT pg_advisory_xact_lock(hashtextextended('administrators of ' || $1, 0))`;
const COUNT_ADMINS = `
  SELECT count(*)::int AS admins
    FROM principal_role r JOIN principal p ON p.account_id = r.account_id AND p.id = r.principal_id
   WHERE r.account_id = $1 AND r.role_id = 'role_admin' AND p.kind = 'person' AND p.status = 'active'`;

/** People who hold everything in the account, as it will be after this transaction. One transaction at a time may ask. */
export async function countAdmins(ctx: Rows): Promise<number> {
  await ctx.sql(LOCK_ADMINS, [ctx.actor.accountId]);
  const [row] = await ctx.sql<{ admins: number }>(COUNT_ADMINS, [ctx.actor.accountId]);
  return row?.admins ?? 0;
}

export async function deleteRoles(ctx: Rows, principalId: string): Promise<void> {
  await ctx.sql(DELETE, [ctx.actor.accountId, principalId]);
}
