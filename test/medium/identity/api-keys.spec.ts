import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const KEYS = '/api/v1/api-keys';

let app: RunningApp;
let owner: { readonly accountId: string; readonly ownerId: string; readonly key: string };

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
});
afterAll(() => app.stop());

async function create(body: object, key = owner.key): Promise<Json> {
  const { status, json } = await app.call('POST', KEYS, { key, body });
  expect({ status, json }).toMatchObject({ status: 201 });
  return json;
}

async function listed(id: string): Promise<Json> {
  const { json } = await app.call('GET', KEYS, { key: owner.key });
  return (json as { id: string }[]).find((key) => key.id === id);
}

describe('making keys', () => {
  it('K-58: without more than a name it makes a service account of that name, and the key acts as it', async () => {
    const made = await create({ name: 'deployer', role_ids: ['role_viewer'] });
    expect(made).toMatchObject({
      id: expect.stringMatching(/^key_/),
      key: expect.stringMatching(/^sk_[\w-]{43}$/),
      name: 'deployer',
      scopes: [],
      status: 'active',
      bound_to: 'service_account',
      service_account_name: 'deployer',
      expires_at: null,
      last_used_at: null,
    });
    await app.call('GET', '/api/v1/audit', { key: made.key });
    const { json } = await app.call('GET', `/api/v1/audit?actor_principal_id=${made.principal_id}`, { key: owner.key });
    expect(json).toMatchObject([{ action: 'audit.read', actor_type: 'service_account', status: 'success' }]);
  });

  it('K-57: bound to the caller it acts as the caller', async () => {
    const made = await create({ name: 'mine', bound_to: 'user' });
    expect(made).toMatchObject({ bound_to: 'user', principal_id: owner.ownerId, service_account_name: null });
    await create({ name: 'made by it', bound_to: 'user' }, made.key);
  });

  it('binds a further key to a service account that exists', async () => {
    const first = await create({ name: 'robot', role_ids: ['role_viewer'] });
    const second = await create({ name: 'robot too', service_account_id: first.principal_id });
    expect(second).toMatchObject({ principal_id: first.principal_id, service_account_name: 'robot' });
  });

  it.each([
    ['no service account of the account', { service_account_id: 'prn_nobody' }, ['body', 'service_account_id']],
    ['an unknown role', { role_ids: ['role_viewer', 'role_root'] }, ['body', 'role_ids', 1]],
    ['roles for the caller', { bound_to: 'user', role_ids: ['role_viewer'] }, ['body', 'role_ids']],
    ['a scope of no form', { scopes: ['runs:read', 'everything'] }, ['body', 'scopes', 1]],
    ['an end that is no time', { expires_at: 'tomorrow' }, ['body', 'expires_at']],
    ['an unknown binding', { bound_to: 'agent' }, ['body', 'bound_to']],
    ['an empty name', { name: '' }, ['body', 'name']],
    ['a name that cannot be stored', { name: 'a\u0000b' }, ['body', 'name']],
    ['a name of another type', { name: { $ne: null } }, ['body', 'name']],
  ])('refuses %s with 422 and its place', async (_what, body, loc) => {
    const answer = await app.call('POST', KEYS, { key: owner.key, body: { name: 'refused', ...body } });
    expect(answer).toMatchObject({ status: 422, json: { code: 'input.invalid', detail: [{ loc }] } });
    expect((await app.call('GET', KEYS, { key: owner.key })).text).not.toContain('"refused"');
  });

  it('refuses the caller’s own key to a service account, which is no person', async () => {
    const robot = await create({ name: 'robot', role_ids: ['role_admin'] });
    const answer = await app.call('POST', KEYS, { key: robot.key, body: { name: 'mine', bound_to: 'user' } });
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc: ['body', 'bound_to'] }] } });
  });

  it('K-64: another account’s service account reads like none', async () => {
    const foreign = await create({ name: 'theirs' });
    const { key } = await app.account();
    const body = (id: string) => ({ name: 'thief', service_account_id: id });
    const [theirs, missing] = await Promise.all(
      [foreign.principal_id, 'prn_missing'].map((id) => app.call('POST', KEYS, { key, body: body(id) })),
    );
    expect(theirs).toMatchObject({ status: 422 });
    expect({ ...theirs?.json, request_id: '' }).toEqual({ ...missing?.json, request_id: '' });
  });
});

describe('echo rules', () => {
  it('what was sent comes back character for character, from create and from the list', async () => {
    const sent = {
      name: '  Ünïcode \u2028 name  ',
      scopes: ['runs:write', 'agents:read', 'runs:write', 'triggers:read'],
      expires_at: '2031-02-03t04:05:06.7890123+02:00',
    };
    const { key: _key, ...made } = await create(sent);
    expect(made).toMatchObject(sent);
    expect(await listed(made.id)).toEqual(made);
    expect(await listed(made.id)).toEqual(made);
  });

  it.each(['0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', '2024-02-29T23:59:59.5+14:00'])(
    '%s is a time that a key can end at',
    async (expires_at) => expect(await create({ name: 'ends', expires_at })).toMatchObject({ expires_at }),
  );

  it('a key whose time has passed can be made, and opens nothing', async () => {
    const { key } = await create({ name: 'over', role_ids: ['role_admin'], expires_at: '2001-01-01T00:00:00Z' });
    const answer = await app.call('GET', KEYS, { key });
    expect(answer).toMatchObject({ status: 401, json: { code: 'auth.expired' } });
  });

  it('a key stops at its end, also where it is remembered', async () => {
    const [{ now } = { now: new Date(0) }] = await app.database.query<{ now: Date }>('SELECT now() AS now');
    const expires_at = new Date(now.getTime() + 1_500).toISOString();
    const { key } = await create({ name: 'short', role_ids: ['role_viewer'], expires_at });
    expect((await app.call('GET', KEYS, { key })).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 1_600));
    expect(await app.call('GET', KEYS, { key })).toMatchObject({ status: 401, json: { code: 'auth.expired' } });
  });
});

describe('listing and revoking', () => {
  it('lists every key, oldest first, revoked ones too', async () => {
    const { key, accountId } = await app.account();
    for (const name of ['a', 'b', 'c']) await create({ name }, key);
    const [{ id } = { id: '' }] = await app.database.query<{ id: string }>(
      `SELECT id FROM api_key WHERE account_id = $1 AND name = 'b'`,
      [accountId],
    );
    expect((await app.call('DELETE', `${KEYS}/${id}`, { key })).status).toBe(200);
    const { json, headers } = await app.call('GET', KEYS, { key });
    expect(json).toMatchObject([
      { name: 'First key', bound_to: 'user', status: 'active' },
      { name: 'a', status: 'active' },
      { name: 'b', status: 'revoked' },
      { name: 'c', status: 'active' },
    ]);
    expect(headers.get('x-server-time')).toMatch(/Z$/);
  });

  it('K-68: a revoked key is refused on the next request; revoking may be repeated', async () => {
    const { id, key } = await create({ name: 'short-lived', role_ids: ['role_viewer'] });
    expect((await app.call('GET', KEYS, { key })).status).toBe(200);
    const revoked = await app.call('DELETE', `${KEYS}/${id}`, { key: owner.key });
    expect(revoked).toMatchObject({ status: 200, json: { id, status: 'revoked' } });
    expect(await app.call('GET', KEYS, { key })).toMatchObject({ status: 401, json: { code: 'auth.revoked' } });
    expect(await app.call('DELETE', `${KEYS}/${id}`, { key: owner.key })).toMatchObject({ status: 200 });
    expect(await listed(id)).toMatchObject({ status: 'revoked' });
  });

  it('a key of a principal that was disabled opens nothing, and of a suspended account is refused', async () => {
    const { key, accountId, ownerId } = await app.account();
    await app.database.query(`UPDATE principal SET status = 'disabled' WHERE account_id = $1 AND id = $2`, [
      accountId,
      ownerId,
    ]);
    expect(await app.call('GET', KEYS, { key })).toMatchObject({ status: 401, json: { code: 'auth.revoked' } });
    const other = await app.account();
    await app.database.query(`UPDATE account SET status = 'suspended' WHERE id = $1`, [other.accountId]);
    const suspended = await app.call('GET', KEYS, { key: other.key });
    expect(suspended).toMatchObject({ status: 403, json: { code: 'account.suspended' } });
  });

  it('K-64: another account’s key can neither be seen, revoked nor revealed', async () => {
    const { id } = await create({ name: 'secret of ours' });
    const { key } = await app.account();
    expect((await app.call('GET', KEYS, { key })).text).not.toContain(id);
    for (const [method, suffix] of [
      ['DELETE', ''],
      ['GET', '/reveal'],
    ] as const) {
      const foreign = await app.call(method, `${KEYS}/${id}${suffix}`, { key });
      const missing = await app.call(method, `${KEYS}/key_missing${suffix}`, { key });
      expect(foreign).toMatchObject({ status: 404, json: { code: 'api_key.not_found' } });
      expect({ ...foreign.json, request_id: '' }).toEqual({ ...missing.json, request_id: '' });
    }
    expect(await listed(id)).toMatchObject({ status: 'active' });
  });

  it('U-38: the last use is on record, some time later', async () => {
    const { id, key } = await create({ name: 'used', role_ids: ['role_viewer'] });
    await app.call('GET', KEYS, { key });
    await app.nest.get(Sweeper).now('identity.last_use');
    expect(await listed(id)).toMatchObject({ last_used_at: expect.stringMatching(/^\d{4}-.*\.\d{3}Z$/) });
  });
});

describe('revealing', () => {
  it('shows a new key again to whoever made it, and puts that on record', async () => {
    const { id, key } = await create({ name: 'again' });
    const revealed = await app.call('GET', `${KEYS}/${id}/reveal`, { key: owner.key });
    expect(revealed).toMatchObject({ status: 200, json: { key } });
    const { json } = await app.call('GET', `/api/v1/audit?target=${id}`, { key: owner.key });
    expect(json).toMatchObject([{ action: 'api_key.reveal' }, { action: 'api_key.create' }]);
  });

  it('shows it to nobody else, whatever they may do', async () => {
    const { id } = await create({ name: 'again' });
    const other = await create({ name: 'other admin', role_ids: ['role_admin'] });
    const answer = await app.call('GET', `${KEYS}/${id}/reveal`, { key: other.key });
    expect(answer).toMatchObject({ status: 403, json: { code: 'access.denied' } });
  });

  it('shows neither a revoked key nor the first one, which was never sealed', async () => {
    const { id } = await create({ name: 'again' });
    await app.call('DELETE', `${KEYS}/${id}`, { key: owner.key });
    const { json } = await app.call('GET', KEYS, { key: owner.key });
    for (const one of [id, json[0].id]) {
      const answer = await app.call('GET', `${KEYS}/${one}/reveal`, { key: owner.key });
      expect(answer).toMatchObject({ status: 410, json: { code: 'api_key.not_recoverable' } });
    }
  });

  it('shows it for its minutes only, and then the sealed copy is deleted', async () => {
    const { id } = await create({ name: 'again' });
    await app.database.query(`UPDATE api_key SET created_at = now() - interval '16 minutes' WHERE id = $1`, [id]);
    const answer = await app.call('GET', `${KEYS}/${id}/reveal`, { key: owner.key });
    expect(answer).toMatchObject({ status: 410, json: { code: 'api_key.not_recoverable' } });
    const sealed = 'SELECT sealed IS NOT NULL AS sealed FROM api_key WHERE id = $1';
    expect(await app.database.query(sealed, [id])).toEqual([{ sealed: true }]);
    await app.nest.get(Sweeper).now('identity.forget_sealed_keys');
    expect(await app.database.query(sealed, [id])).toEqual([{ sealed: false }]);
  });

  it('a sealed copy that was moved to another row does not open', async () => {
    const [one, other] = [await create({ name: 'one' }), await create({ name: 'other' })];
    await app.database.query(`UPDATE api_key SET sealed = (SELECT sealed FROM api_key WHERE id = $1) WHERE id = $2`, [
      one.id,
      other.id,
    ]);
    const answer = await app.call('GET', `${KEYS}/${other.id}/reveal`, { key: owner.key });
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain(one.key);
  });
});
