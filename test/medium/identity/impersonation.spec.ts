import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApp, type Json, type Method, type RunningApp } from '../../support/app.ts';

let app: RunningApp;
let replica: RunningApp;
type Account = Awaited<ReturnType<RunningApp['account']>>;
/** Its owner is a system admin; that of the other is not. */
let home: Account;
let other: Account;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_DEV_LOGIN: 'on' } });
  replica = await startApp({
    env: { SIGNALBOX_DEV_LOGIN: 'on', SIGNALBOX_IMPERSONATION_MINUTES: '0.01' },
    database: app.database,
  });
  home = await app.account();
  other = await app.account();
});
afterAll(async () => {
  await replica.stop();
  await app.stop();
});

async function signIn({
  key,
}: Account): Promise<(method: Method, path: string, body?: object, at?: RunningApp) => Promise<Json>> {
  const { headers } = await app.call('POST', '/auth/session/exchange', { key });
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? '';
  return async (method, path, body, at = app) => {
    const sent = body === undefined ? {} : { body };
    const { status, json } = await at.call(method, path, { ...sent, headers: { cookie, origin: at.url } });
    return { status, json, code: json?.code };
  };
}

const targetOf = ({ ownerId, accountId }: Account, reason: string | null = 'ticket 7') => ({
  target_principal_id: ownerId,
  account_id: accountId,
  reason,
});
const IMPERSONATE = '/api/v1/session/impersonate';
const SWITCH = '/api/v1/session/switch-account';

it('a system admin acts with the rights of a member, in sight: in /auth/me, and on every row of either account', async () => {
  const admin = await signIn(home);
  expect((await admin('GET', '/api/v1/runs', undefined, replica)).status).toBe(200); // remembered there
  expect((await admin('POST', IMPERSONATE, targetOf(other))).status).toBe(204);
  const { identity } = (await admin('GET', '/auth/me', undefined, replica)).json;
  expect(identity).toMatchObject({
    principal: { id: other.ownerId },
    account: { id: other.accountId },
    user: { email: `owner@${other.slug}.test` },
    is_system_admin: false,
    impersonation: {
      mode: 'impersonate',
      impersonator_principal_id: home.ownerId,
      impersonator_email: `owner@${home.slug}.test`,
    },
  });
  await admin('PATCH', '/api/v1/account/settings', { content: 'metadata', base_version: 0 });
  const rows = await app.database.query<{
    account_id: string;
    action: string;
    impersonator_id: string;
    reason: string;
  }>(
    `SELECT account_id, action, impersonator_id, detail->>'reason' AS reason FROM audit_entry WHERE action IN ('account.update', 'impersonation.start') ORDER BY id`,
  );
  expect(rows).toContainEqual({
    account_id: home.accountId,
    action: 'impersonation.start',
    impersonator_id: null,
    reason: 'ticket 7',
  });
  expect(rows).toContainEqual({
    account_id: other.accountId,
    action: 'impersonation.start',
    impersonator_id: null,
    reason: 'ticket 7',
  });
  expect(rows).toContainEqual(
    expect.objectContaining({ account_id: other.accountId, action: 'account.update', impersonator_id: home.ownerId }),
  );
  expect((await admin('POST', '/api/v1/session/stop-impersonation')).status).toBe(204);
  expect((await admin('POST', '/api/v1/session/stop-impersonation')).status).toBe(204);
  expect((await admin('GET', '/auth/me', undefined, replica)).json.identity).toMatchObject({
    principal: { id: home.ownerId },
    impersonation: null,
    is_system_admin: true,
  });
});

it('whoever acts as another gains nothing for later: no keys, no tokens, no second step, no reach over the installation', async () => {
  const admin = await signIn(home);
  await admin('POST', IMPERSONATE, targetOf(other));
  const attempts: [Method, string, object?][] = [
    ['POST', '/api/v1/api-keys', { name: 'mine', bound_to: 'user' }],
    ['POST', '/api/v1/agents/worker-token', { agentId: 'mine' }],
    ['POST', IMPERSONATE, targetOf(home)],
    ['POST', SWITCH, { account_id: home.accountId }],
    ['GET', '/api/v1/session/accounts'],
    ['GET', '/api/v1/admin/impersonation-sessions'],
  ];
  for (const [method, path, body] of attempts)
    expect({ path, status: (await admin(method, path, body)).status }).toEqual({ path, status: 403 });
  expect((await app.call('GET', '/api/v1/api-keys', { key: other.key })).json).toHaveLength(1);
});

it('only a system admin acts as others or looks into accounts; a foreign account is missing for everybody else', async () => {
  const nobody = await signIn(other);
  expect((await nobody('POST', IMPERSONATE, targetOf(home))).status).toBe(403);
  expect((await nobody('GET', '/api/v1/session/accounts')).status).toBe(403);
  const [foreign, missing] = [home.accountId, 'acct_none'].map((account_id) => nobody('POST', SWITCH, { account_id }));
  const [one, two] = [await foreign, await missing];
  expect({ ...one?.json, request_id: '' }).toEqual({ ...two?.json, request_id: '' });
  expect(one?.code).toBe('session.account_not_found');
  expect((await nobody('POST', SWITCH, { account_id: other.accountId })).status).toBe(204);
  const admin = await signIn(home);
  expect((await admin('POST', IMPERSONATE, { reason: null })).json.detail[0].loc).toEqual([
    'body',
    'target_principal_id',
  ]);
  expect((await admin('POST', IMPERSONATE, { target_principal_id: 'prn_none' })).code).toBe('session.target_not_found');
  expect((await app.call('POST', IMPERSONATE, { key: home.key, body: targetOf(other) })).status).toBe(403); // a key is no session
});

it('a system admin looks into an account as nobody in particular, reads, and changes nothing', async () => {
  const admin = await signIn(home);
  const options = (await admin('GET', `/api/v1/session/accounts?q=${other.slug}`)).json;
  expect(options).toEqual([{ id: other.accountId, slug: other.slug, name: other.slug, status: 'active' }]);
  expect((await admin('POST', SWITCH, { account_id: other.accountId })).status).toBe(204);
  expect((await admin('GET', '/auth/me')).json.identity).toMatchObject({
    principal: { kind: 'system' },
    account: { id: other.accountId },
    impersonation: { mode: 'account_view', impersonator_principal_id: home.ownerId },
  });
  expect((await admin('GET', '/api/v1/runs')).status).toBe(200);
  expect((await admin('POST', '/api/v1/runs', { agent_id: 'any', input: {} })).status).toBe(403);
  expect((await admin('POST', SWITCH, { account_id: home.accountId })).status).toBe(204);
  expect((await admin('GET', '/auth/me')).json.identity).toMatchObject({
    principal: { id: home.ownerId },
    impersonation: null,
  });
});

it('it ends by itself after its time, with the target’s membership, and with the rights of whoever acts', async () => {
  const admin = await signIn(home);
  await admin('POST', IMPERSONATE, targetOf(other), replica);
  expect((await admin('GET', '/auth/me')).json.identity.principal.id).toBe(other.ownerId);
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect((await admin('GET', '/auth/me')).json.identity).toMatchObject({
    principal: { id: home.ownerId },
    impersonation: null,
  });
  const third = await app.account();
  await admin('POST', IMPERSONATE, targetOf(third));
  await app.database.query(`UPDATE principal SET status = 'removed' WHERE account_id = $1`, [third.accountId]);
  const fresh = await startApp({ database: app.database });
  expect((await admin('GET', '/auth/me', undefined, fresh)).json.identity.principal.id).toBe(home.ownerId);
  await fresh.stop();
});

it('system admins see who acts as whom, and end it at once on every replica; what does not act is missing', async () => {
  const admin = await signIn(home);
  await admin('POST', IMPERSONATE, targetOf(other, null));
  expect((await admin('GET', '/api/v1/runs', undefined, replica)).status).toBe(200);
  const path = '/api/v1/admin/impersonation-sessions';
  const [shown] = (await app.call('GET', path, { key: home.key })).json;
  expect(shown).toMatchObject({
    mode: 'impersonate',
    account_id: other.accountId,
    account_slug: other.slug,
    actor_principal_id: other.ownerId,
    impersonator_principal_id: home.ownerId,
    impersonator_email: `owner@${home.slug}.test`,
  });
  expect((await app.call('GET', path, { key: other.key })).status).toBe(403);
  const revoke = () => app.call('POST', `${path}/${shown.sid}/revoke`, { key: home.key, body: { reason: 'over' } });
  expect((await revoke()).status).toBe(204);
  expect((await admin('GET', '/api/v1/runs', undefined, replica)).code).toBe('auth.revoked');
  expect((await revoke()).json.code).toBe('impersonation.not_found');
});
