import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AccountSettingsChanged } from './account-settings.faults.ts';

/** As many as a column of counts holds. */
const MOST = 2_147_483_647;
const Limit = z.int().min(1).max(MOST).nullable();
/** Null: kept for ever. */
const Days = z.int().min(1).max(36_500).nullable();

const Retention = z.strictObject({ runs_days: Days, evidence_days: Days, sessions_days: Days, audit_days: Days });
/** Null: as many as there are. */
const Limits = z.strictObject({
  concurrent_runs: Limit,
  queued_runs: Limit,
  storage_mb: Limit,
  requests_per_minute: Limit,
});
const Content = z.enum(['full', 'metadata']);
const AuditReads = z.array(z.string().min(1).max(200)).max(200);

export const AccountSettings = z
  .object({
    version: z.int(),
    retention: Retention,
    content: Content,
    limits: Limits,
    audit_reads: AuditReads,
  })
  .meta({ id: 'AccountSettings' });

const AccountSettingsUpdate = z
  .strictObject({
    retention: Retention.partial().optional(),
    content: Content.optional(),
    limits: Limits.partial().optional(),
    audit_reads: AuditReads.optional(),
    base_version: z.int().min(0).max(MOST).nullish(),
  })
  .meta({ id: 'AccountSettingsUpdate' });

export const getAccountSettings = operation({
  id: 'identity.get_account_settings',
  summary: 'Shows how long the account’s records are kept, what of their content, and which limits hold.',
  http: { method: 'GET', path: '/api/v1/account/settings', status: 200 },
  capability: 'account.read',
  ours: true,
  input: {},
  output: AccountSettings,
  faults: [],
});

export const updateAccountSettings = operation({
  id: 'identity.update_account_settings',
  summary: 'Changes the settings that are named. What this build does not enforce cannot be set.',
  http: { method: 'PATCH', path: '/api/v1/account/settings', status: 200 },
  capability: 'account.update',
  operatorsOnly: true,
  ours: true,
  audit: { action: 'account.update', target: () => ['account', ''] },
  input: { body: AccountSettingsUpdate },
  output: AccountSettings,
  faults: [AccountSettingsChanged],
});
