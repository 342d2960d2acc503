import { z } from 'zod';
import { operation, self } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { AccountSuspended } from '../credentials/credentials.faults.ts';
import { AccountNotFound, ActsAlready, ImpersonationNotFound, TargetNotFound } from './sessions.faults.ts';

const SESSIONS = 'sessions belong to people, and no account sees them';

const AccountOption = z
  .object({ id: z.string(), slug: z.string(), name: z.string(), status: z.string() })
  .meta({ id: 'AccountOption' });

const SessionView = z
  .object({
    sid: z.string(),
    current: z.boolean(),
    created_at: z.string(),
    last_seen_at: z.string(),
    expires_at: z.string(),
    user_agent: z.string().nullable(),
    account_id: z.string(),
  })
  .meta({ id: 'SessionView' });

const SwitchAccountRequest = z.object({ account_id: z.string().max(500) }).meta({ id: 'SwitchAccountRequest' });

const ImpersonateRequest = z
  .object({
    account_id: z.string().max(500).nullish(),
    reason: z.string().max(1_000).nullish(),
    target_principal_id: z.string().max(500).nullish(),
    target_user_id: z.string().max(500).nullish(),
  })
  .meta({ id: 'ImpersonateRequest' });

const ImpersonationSessionView = z
  .object({
    sid: z.string(),
    mode: z.string(),
    account_id: z.string(),
    account_slug: z.string().nullable(),
    started_at: z.string(),
    actor_principal_id: z.string().nullable(),
    actor_label: z.string().nullable(),
    impersonator_principal_id: z.string().nullable(),
    impersonator_email: z.string().nullable(),
  })
  .meta({ id: 'ImpersonationSessionView' });

const RevokeSessionRequest = z.object({ reason: z.string().max(1_000).nullish() }).meta({ id: 'RevokeSessionRequest' });

export const listSessions = operation({
  id: 'identity.list_sessions',
  summary: 'Lists where the caller is signed in, the newest first.',
  http: { method: 'GET', path: '/api/v1/session/list', status: 200 },
  capability: self,
  sessionsOnly: true,
  acrossAccounts: SESSIONS,
  ours: true,
  input: {},
  output: z.array(SessionView),
  faults: [],
});

export const endAllSessions = operation({
  id: 'identity.end_all_sessions',
  summary: 'Signs the caller out everywhere: when this answers, no replica takes those sessions any more.',
  http: { method: 'POST', path: '/api/v1/session/end-all', status: 200 },
  capability: self,
  sessionsOnly: true,
  acrossAccounts: SESSIONS,
  ours: true,
  audit: { action: 'session.end_all', target: () => ['session', ''] },
  input: { body: z.object({ keep_current: z.boolean().default(true) }) },
  output: z.object({ ended: z.int() }),
  faults: [],
});

export const listAccountOptions = operation({
  id: 'identity.list_account_options',
  summary: 'Lists the active accounts, for whoever looks after the installation.',
  http: { method: 'GET', path: '/api/v1/session/accounts', status: 200 },
  capability: self,
  sessionsOnly: true,
  systemAdminsOnly: true,
  acrossAccounts: 'a system admin may look into each account',
  input: {
    query: z.object({
      q: z.string().max(200).nullish(),
      limit: z.preprocess(
        (text) => (typeof text === 'string' && /^\d{1,9}$/.test(text) ? Number(text) : text),
        z.int().min(1).nullish(),
      ),
    }),
  },
  output: z.array(AccountOption),
  faults: [],
});

export const switchAccount = operation({
  id: 'identity.switch_account',
  summary:
    'Lets the session act in another account: as the member that the caller is, or as a system admin who looks into it.',
  http: { method: 'POST', path: '/api/v1/session/switch-account', status: 204 },
  capability: self,
  sessionsOnly: true,
  acrossAccounts: SESSIONS,
  audit: { action: 'session.switch_account', target: ({ account_id }) => ['account', account_id] },
  input: { body: SwitchAccountRequest },
  output: empty,
  faults: [AccountNotFound, AccountSuspended, ActsAlready],
});

export const impersonate = operation({
  id: 'identity.impersonate',
  summary: 'Lets a system admin act as a member of an account, for a limited time and on record.',
  http: { method: 'POST', path: '/api/v1/session/impersonate', status: 204 },
  capability: self,
  sessionsOnly: true,
  systemAdminsOnly: true,
  acrossAccounts: 'whom a system admin acts as is a member of any account',
  audit: { action: 'impersonation.start', target: () => ['principal', ''] },
  input: { body: ImpersonateRequest },
  output: empty,
  faults: [TargetNotFound],
});

export const stopImpersonation = operation({
  id: 'identity.stop_impersonation',
  summary: 'Makes the session its owner’s again. May be repeated.',
  http: { method: 'POST', path: '/api/v1/session/stop-impersonation', status: 204 },
  capability: self,
  sessionsOnly: true,
  acrossAccounts: SESSIONS,
  audit: { action: 'impersonation.stop', target: () => ['session', ''] },
  input: {},
  output: empty,
  faults: [],
});

export const listImpersonations = operation({
  id: 'identity.list_impersonations',
  summary: 'Lists the sessions that act as somebody else now, the newest first.',
  http: { method: 'GET', path: '/api/v1/admin/impersonation-sessions', status: 200 },
  capability: self,
  systemAdminsOnly: true,
  acrossAccounts: SESSIONS,
  input: {},
  output: z.array(ImpersonationSessionView),
  faults: [],
});

export const revokeImpersonation = operation({
  id: 'identity.revoke_impersonation',
  summary: 'Ends a session that acts as somebody else, on every replica before it answers.',
  http: { method: 'POST', path: '/api/v1/admin/impersonation-sessions/{sid}/revoke', status: 204 },
  capability: self,
  systemAdminsOnly: true,
  acrossAccounts: SESSIONS,
  audit: { action: 'impersonation.revoke', target: ({ sid }) => ['session', sid] },
  input: { path: z.object({ sid: z.string() }), body: RevokeSessionRequest },
  output: empty,
  faults: [ImpersonationNotFound],
});
