import type { OpContext } from '../../platform/operation/operation.ts';
import type { OwnLimits, SettingsRow } from './account-settings.policy.ts';

const FIND = 'SELECT version, concurrent_runs, queued_runs FROM account_settings WHERE account_id = $1';

export async function findSettings(ctx: OpContext): Promise<SettingsRow> {
  const [row] = await ctx.sql<SettingsRow>(FIND, [ctx.actor.accountId]);
  return row ?? { version: 0, concurrent_runs: null, queued_runs: null };
}

/** A row to lock, also for the first who decides something; whoever is refused takes it back. */
const MAKE = `
  INSERT INTO account_settings (account_id, version, updated_by) VALUES ($1, 0, $2) ON CONFLICT (account_id) DO NOTHING`;
const LOCK = `${FIND} FOR UPDATE`;

/** Until the end of the transaction nobody else changes the account's settings. */
export async function lockSettings(ctx: OpContext): Promise<SettingsRow> {
  const { accountId, id } = ctx.actor;
  const [, [row]] = await Promise.all([ctx.sql(MAKE, [accountId, id]), ctx.sql<SettingsRow>(LOCK, [accountId])]);
  return row ?? { version: 0, concurrent_runs: null, queued_runs: null };
}

const SET = `
  UPDATE account_settings SET version = version + 1, concurrent_runs = $2, queued_runs = $3, updated_at = now(), updated_by = $4
   WHERE account_id = $1`;

export async function setLimits(ctx: OpContext, { concurrent_runs, queued_runs }: OwnLimits): Promise<void> {
  await ctx.sql(SET, [ctx.actor.accountId, concurrent_runs, queued_runs, ctx.actor.id]);
}
