import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const MEMBERS = '/api/v1/accounts/members';
const SERVICE_ACCOUNTS = '/api/v1/accounts/service-accounts';

type Method = Parameters<RunningApp['call']>[0];
type Account = Awaited<ReturnType<RunningApp['account']>>;

let app: RunningApp;
let owner: Account;
let other: Account;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_DEV_LOGIN: 'on' } });
  owner = await app.account();
  other = await app.account();
});
afterAll(() => app.stop());

async function ask(method: Method, path: string, body?: object, key = owner.key): Promise<Json> {
  const { status, json } = await app.call(method, path, { key, body });
  expect({ path, status, json }).toMatchObject({ status: method === 'POST' && !path.endsWith('restore') ? 201 : 200 });
  return json;
}

async function refusal(method: Method, path: string, body?: object, key = owner.key): Promise<unknown> {
  const { status, json } = await app.call(method, path, { key, body });
  return [status, json.code];
}

const listed = async (path: string, id: string, key = owner.key): Promise<Json> =>
  (await ask('GET', path, undefined, key)).find((one: Json) => one.principal_id === id);

/** A key of somebody's own, as a person who signed in would have made it. */
async function keyOf(principalId: string, key: Account = owner): Promise<{ id: string; secret: string }> {
  const made = await ask('POST', '/api/v1/api-keys', { name: 'own', role_ids: [] }, key.key);
  const sql = 'UPDATE api_key SET principal_id = $1 WHERE id = $2';
  await app.database.query(sql, [principalId, made.id]);
  return { id: made.id, secret: made.key };
}

const giveRole = (accountId: string, principalId: string, roleId: string) =>
  app.database.query('INSERT INTO principal_role (account_id, principal_id, role_id) VALUES ($1, $2, $3)', [
    accountId,
    principalId,
    roleId,
  ]);

describe('members', () => {
  it('are invited by mail address, which comes back as it was written, and hold nothing yet', async () => {
    const made = await ask('POST', MEMBERS, { email: 'Ada.Lovelace@Example.com' });
    expect(made).toMatchObject({
      principal_id: expect.stringMatching(/^prn_/),
      user_id: expect.stringMatching(/^usr_/),
      email: 'Ada.Lovelace@Example.com',
      full_name: null,
      display_name: 'Ada.Lovelace@Example.com',
      status: 'active',
      last_login_at: null,
    });
    expect(await listed(MEMBERS, made.principal_id)).toEqual(made);
    const { secret } = await keyOf(made.principal_id);
    expect(await refusal('GET', MEMBERS, undefined, secret)).toEqual([403, 'access.denied']);
    expect(await refusal('POST', MEMBERS, { email: 'ada.lovelace@example.COM' })).toEqual([409, 'member.exists']);
  });

  it('are the same person in every account, and no account learns of another', async () => {
    const here = await ask('POST', MEMBERS, { email: 'both@example.com', full_name: 'Grace' });
    const there = await ask('POST', MEMBERS, { email: 'BOTH@example.com' }, other.key);
    expect(there).toMatchObject({ user_id: here.user_id, full_name: null, display_name: 'BOTH@example.com' });
    expect(there.principal_id).not.toBe(here.principal_id);
    for (const [method, path] of [
      ['DELETE', `${MEMBERS}/${here.principal_id}`],
      ['POST', `${MEMBERS}/${here.principal_id}/restore`],
      ['DELETE', `${MEMBERS}/prn_nobody`],
      ['DELETE', `${SERVICE_ACCOUNTS}/${here.principal_id}`],
    ] as const)
      expect([path, (await app.call(method, path, { key: other.key })).status]).toEqual([path, 404]);
    expect((await listed(MEMBERS, here.principal_id)).status).toBe('active');
  });

  it.each([
    [{}, ['body', 'email']],
    [{ email: 'no address' }, ['body', 'email']],
    [{ email: `${'x'.repeat(400)}@example.com` }, ['body', 'email']],
    [{ email: 'a@example.com', full_name: '' }, ['body', 'full_name']],
    [{ email: 'a@example.com', full_name: 'a\u0000b' }, ['body', 'full_name']],
  ])('%j is refused at %j', async (body, loc) => {
    const { status, json } = await app.call('POST', MEMBERS, { key: owner.key, body });
    expect([status, json.detail?.[0]?.loc]).toEqual([422, loc]);
  });

  it('K-68 U-45: removed, open nothing here from the answer on, keep their place elsewhere, and what they did stays theirs', async () => {
    const here = await ask('POST', MEMBERS, { email: 'leaver@example.com' });
    const there = await ask('POST', MEMBERS, { email: 'leaver@example.com' }, other.key);
    await giveRole(owner.accountId, here.principal_id, 'role_admin');
    await giveRole(other.accountId, there.principal_id, 'role_viewer');
    const [mine, theirs] = [await keyOf(here.principal_id), await keyOf(there.principal_id, other)];
    const agents = '/api/v1/agents';
    expect((await app.call('GET', agents, { key: mine.secret })).status).toBe(200);
    const cookie = await signIn(mine.secret);
    expect((await app.call('GET', agents, { headers: { cookie } })).status).toBe(200);

    expect(await ask('DELETE', `${MEMBERS}/${here.principal_id}`)).toEqual({
      principal_id: here.principal_id,
      status: 'removed',
    });
    expect(await refusal('GET', agents, undefined, mine.secret)).toEqual([401, 'auth.revoked']);
    expect((await app.call('GET', agents, { headers: { cookie } })).status).toBe(401);
    expect((await app.call('GET', agents, { key: theirs.secret })).status).toBe(200);
    expect(await listed(MEMBERS, here.principal_id)).toMatchObject({ status: 'removed' });
    expect(await refusal('POST', MEMBERS, { email: 'leaver@example.com' })).toEqual([409, 'member.removed']);
    await ask('DELETE', `${MEMBERS}/${here.principal_id}`); // may be repeated

    expect(await ask('POST', `${MEMBERS}/${here.principal_id}/restore`)).toMatchObject({ status: 'active' });
    expect(await refusal('GET', agents, undefined, mine.secret)).toEqual([401, 'auth.revoked']);
    const fresh = await keyOf(here.principal_id);
    expect((await app.call('GET', agents, { key: fresh.secret })).status).toBe(200); // the roles are still theirs
    const rows = await ask('GET', `/api/v1/audit?target=${here.principal_id}`);
    expect(rows.map(({ action }: Json) => action)).toEqual([
      'member.restore',
      'member.remove',
      'member.remove',
      'member.invite',
    ]);
  });

  it('U-47: whoever holds less does not bring an administrator back', async () => {
    const gone = await ask('POST', MEMBERS, { email: 'was-admin@example.com' });
    await giveRole(owner.accountId, gone.principal_id, 'role_admin');
    await ask('DELETE', `${MEMBERS}/${gone.principal_id}`);
    const operator = await ask('POST', '/api/v1/api-keys', { name: 'operator', role_ids: ['role_operator'] });
    expect(await refusal('POST', `${MEMBERS}/${gone.principal_id}/restore`, undefined, operator.key)).toEqual([
      403,
      'access.escalation',
    ]);
    expect(await listed(MEMBERS, gone.principal_id)).toMatchObject({ status: 'removed' });
  });

  it('U-47: the last administrator stays, also when two are removed at the same time', async () => {
    const account = await app.account();
    const robot = await ask('POST', '/api/v1/api-keys', { name: 'robot', role_ids: ['role_admin'] }, account.key);
    const remove = (id: string) => app.call('DELETE', `${MEMBERS}/${id}`, { key: robot.key });
    const alone = await remove(account.ownerId);
    expect([alone.status, alone.json.code]).toEqual([409, 'access.last_admin']);
    for (let round = 0; round < 3; round += 1) {
      const second = await ask('POST', MEMBERS, { email: `second-${round}@example.com` }, robot.key);
      await giveRole(account.accountId, second.principal_id, 'role_admin');
      const answers = await Promise.all([remove(account.ownerId), remove(second.principal_id)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
      const members: Json[] = await ask('GET', MEMBERS, undefined, robot.key);
      const admins = [account.ownerId, second.principal_id];
      expect(members.filter((one) => admins.includes(one.principal_id) && one.status === 'active')).toHaveLength(1);
      if (answers[0]?.status === 200) await ask('POST', `${MEMBERS}/${account.ownerId}/restore`, undefined, robot.key);
      await app.database.query(`DELETE FROM principal_role WHERE principal_id = $1`, [second.principal_id]);
    }
  });
});

describe('service accounts', () => {
  it('K-58: are made with roles, disabled with all of their keys, and restored with those', async () => {
    const made = await ask('POST', SERVICE_ACCOUNTS, { display_name: ' Nightly ', role_ids: ['role_viewer'] });
    expect(made).toMatchObject({ display_name: ' Nightly ', status: 'active', source: 'managed' });
    const key = await ask('POST', '/api/v1/api-keys', { name: 'first', service_account_id: made.principal_id });
    expect((await app.call('GET', '/api/v1/agents', { key: key.key })).status).toBe(200);
    expect(await ask('DELETE', `${SERVICE_ACCOUNTS}/${made.principal_id}`)).toEqual({
      principal_id: made.principal_id,
      status: 'disabled',
    });
    expect(await refusal('GET', '/api/v1/agents', undefined, key.key)).toEqual([401, 'auth.revoked']);
    const wanted = { name: 'second', service_account_id: made.principal_id };
    expect((await app.call('POST', '/api/v1/api-keys', { key: owner.key, body: wanted })).status).toBe(422);
    expect(await listed(SERVICE_ACCOUNTS, made.principal_id)).toEqual({ ...made, status: 'disabled' });
    expect(await ask('POST', `${SERVICE_ACCOUNTS}/${made.principal_id}/restore`)).toEqual(made);
    expect((await app.call('GET', '/api/v1/agents', { key: key.key })).status).toBe(200);
  });

  it('made together with a key say so', async () => {
    const { principal_id: id } = await ask('POST', '/api/v1/api-keys', { name: 'together' });
    expect(await listed(SERVICE_ACCOUNTS, id)).toMatchObject({ display_name: 'together', source: 'api_key' });
    expect((await app.call('DELETE', `${MEMBERS}/${id}`, { key: owner.key })).status).toBe(404);
  });

  it('U-47: hold no more than whoever makes them', async () => {
    const operator = await ask('POST', '/api/v1/api-keys', { name: 'maker', role_ids: ['role_operator'] });
    const body = { display_name: 'too much', role_ids: ['role_admin'] };
    expect(await refusal('POST', SERVICE_ACCOUNTS, body, operator.key)).toEqual([403, 'access.escalation']);
    const unknown = { display_name: 'unknown', role_ids: ['role_root'] };
    const { status, json } = await app.call('POST', SERVICE_ACCOUNTS, { key: owner.key, body: unknown });
    expect([status, json.detail?.[0]?.loc]).toEqual([422, ['body', 'role_ids', 0]]);
    const names = (await ask('GET', SERVICE_ACCOUNTS)).map((one: Json) => one.display_name);
    expect(names).not.toContain('too much');
    expect(names).not.toContain('unknown');
  });
});

async function signIn(key: string): Promise<string> {
  const { status, headers } = await app.call('POST', '/auth/session/exchange', { key });
  expect(status).toBe(200);
  return headers.getSetCookie()[0]?.split(';')[0] ?? '';
}
