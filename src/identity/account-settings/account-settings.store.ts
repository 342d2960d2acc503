import type { OpContext } from '../../platform/operation/operation.ts';
import { NOTHING_DECIDED, type OwnSettings, type SettingsRow } from './account-settings.policy.ts';

const FIND = `
  SELECT version, concurrent_runs, queued_runs, content, runs_days, evidence_days, sessions_days, audit_days
    FROM account_settings WHERE account_id = $1`;

export async function findSettings(ctx: OpContext): Promise<SettingsRow> {
  return (await ctx.sql<SettingsRow>(FIND, [ctx.actor.accountId]))[0] ?? NOTHING_DECIDED;
}

/** A row to lock, also for the first who decides something; whoever is refused takes it back. */
const MAKE = `
  INSERT INTO account_settings (account_id, version, updated_by) VALUES ($1, 0, $2) ON CONFLICT (account_id) DO NOTHING`;
const LOCK = `${FIND} FOR UPDATE`;

/** Until the end of the transaction nobody else changes the account's settings. */
export async function lockSettings(ctx: OpContext): Promise<SettingsRow> {
  const { accountId, id } = ctx.actor;
  const [, [row]] = await Promise.all([ctx.sql(MAKE, [accountId, id]), ctx.sql<SettingsRow>(LOCK, [accountId])]);
  return row ?? NOTHING_DECIDED;
}

const SET = `
  UPDATE account_settings SET version = version + 1, updated_at = now(), updated_by = $2, concurrent_runs = $3, queued_runs = $4, content = $5,
         runs_days = $6, evidence_days = $7, sessions_days = $8, audit_days = $9
   WHERE account_id = $1`;

export async function replaceSettings(ctx: OpContext, settings: OwnSettings): Promise<void> {
  const { concurrent_runs, queued_runs, content, runs_days, evidence_days, sessions_days, audit_days } = settings;
  const kept = [content, runs_days, evidence_days, sessions_days, audit_days];
  await ctx.sql(SET, [ctx.actor.accountId, ctx.actor.id, concurrent_runs, queued_runs, ...kept]);
}
