import * as login from '../../../src/identity/login/login.contract.ts';
import { whoAmI } from '../../../src/identity/me/me.contract.ts';
import * as sessions from '../../../src/identity/sessions/sessions.contract.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { nothing, sample } from './sample.ts';

const signedIn = async (tenant: Tenant) => ({ token: await tenant.signIn() });

export const sessionSamples = [
  sample(whoAmI, nothing),
  sample(login.startSignIn, nothing),
  sample(login.oidcLogin, nothing),
  sample(login.oidcCallback, nothing),
  sample(login.signInProblem, async () => ({ query: { code: 'auth.sign_in_state' } })),
  sample(login.logoutByLink, nothing),
  sample(login.logout, nothing),
  sample(login.exchangeKey, nothing),
  sample(login.devLogin, nothing),
  sample(login.devLoginPage, nothing),
  sample(sessions.listSessions, signedIn),
  sample(sessions.endAllSessions, async (tenant) => ({ ...(await signedIn(tenant)), body: { keep_current: true } })),
  sample(sessions.listAccountOptions, signedIn),
  sample(sessions.switchAccount, async (tenant) => ({
    ...(await signedIn(tenant)),
    body: { account_id: tenant.accountId },
  })),
  sample(sessions.impersonate, async (tenant) => ({
    ...(await signedIn(tenant)),
    body: { target_principal_id: tenant.ownerId, account_id: tenant.accountId, reason: 'a call for help' },
  })),
  sample(sessions.stopImpersonation, signedIn),
  sample(sessions.listImpersonations, nothing),
  sample(sessions.revokeImpersonation, async (tenant) => {
    const cookie = await tenant.signIn();
    const body = { target_principal_id: tenant.ownerId };
    await tenant.call('POST', '/api/v1/session/impersonate', { key: cookie, json: body });
    const { json } = await tenant.call('GET', '/api/v1/admin/impersonation-sessions');
    return { path: { sid: json[0].sid }, body: { reason: 'enough' } };
  }),
];
