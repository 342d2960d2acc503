import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type Method, type RunningApp } from '../../support/app.ts';

const KEYS = '/api/v1/api-keys';

let app: RunningApp;
let owner: { readonly key: string };

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
});
afterAll(() => app.stop());

function create(key: string, body: object): Promise<Json> {
  return app.call('POST', KEYS, { key, body: { name: 'made', ...body } });
}

async function keyWith(body: object): Promise<string> {
  const { status, json } = await create(owner.key, body);
  expect(status).toBe(201);
  return json.key;
}

/** One call for each capability of these rooms; a body that would be 422 if it came so far. */
const CALLS: Readonly<Record<string, readonly [Method, string]>> = {
  'api_key.read': ['GET', KEYS],
  'api_key.revoke': ['DELETE', `${KEYS}/key_missing`],
  'api_key.reveal': ['GET', `${KEYS}/key_missing/reveal`],
  'worker_token.read': ['GET', '/api/v1/agents/worker-tokens'],
  'worker_token.revoke': ['DELETE', '/api/v1/agents/nobody/token'],
  'audit.read': ['GET', '/api/v1/audit'],
};

async function allowed(key: string): Promise<string[]> {
  const answers = await Promise.all(
    Object.entries(CALLS).map(async ([capability, [method, path]]) => {
      const { status, json } = await app.call(method, path, { key });
      if (status === 403)
        expect(json).toMatchObject({ code: 'access.denied', detail: expect.stringContaining(capability) });
      return status === 403 ? [] : [capability];
    }),
  );
  return answers.flat();
}

describe('what a caller may do', () => {
  it('N-13: a principal without a role may do nothing', async () => {
    expect(await allowed(await keyWith({}))).toEqual([]);
  });

  it.each([
    ['role_admin', Object.keys(CALLS)],
    ['role_operator', Object.keys(CALLS)],
    ['role_developer', ['worker_token.read', 'worker_token.revoke']],
    ['role_runner', []],
    ['role_viewer', ['api_key.read', 'worker_token.read', 'audit.read']],
    ['role_auditor', ['audit.read']],
  ])('K-63: %s is refused with 403, naming what is missing, wherever it holds nothing', async (role, expected) => {
    expect(await allowed(await keyWith({ role_ids: [role] }))).toEqual(expected);
  });

  it('scopes of a key only narrow, and only that key', async () => {
    expect(await allowed(await keyWith({ role_ids: ['role_viewer'], scopes: ['audit:write'] }))).toEqual([
      'audit.read',
    ]);
    expect(await allowed(await keyWith({ role_ids: ['role_admin'], scopes: ['api_keys:read'] }))).toEqual([
      'api_key.read',
    ]);
    expect(await allowed(await keyWith({ role_ids: ['role_admin'], scopes: ['worker_tokens:write'] }))).toEqual([
      'worker_token.read',
      'worker_token.revoke',
    ]);
    expect(await allowed(owner.key)).toEqual(Object.keys(CALLS));
  });

  it('a worker token opens nothing of the people’s', async () => {
    const body = { agentId: 'worker' };
    const { json } = await app.call('POST', '/api/v1/agents/worker-token', { key: owner.key, body });
    for (const [method, path] of Object.values(CALLS)) {
      expect((await app.call(method, path, { key: json.token })).status).toBe(403);
    }
  });
});

describe('nobody gives away what they do not hold', () => {
  const escalation = { status: 403, json: { code: 'access.escalation' } };

  it('not by a role', async () => {
    const operator = await keyWith({ role_ids: ['role_operator'] });
    expect(await create(operator, { role_ids: ['role_operator', 'role_viewer'] })).toMatchObject({ status: 201 });
    for (const role of ['role_admin', 'role_developer', 'role_runner']) {
      const answer = await create(operator, { role_ids: [role] });
      expect(answer).toMatchObject(escalation);
      expect(answer.json.detail).toContain('agent.invoke');
    }
  });

  it('not by a key for a service account that holds more', async () => {
    const operator = await keyWith({ role_ids: ['role_operator'] });
    const strong = (await create(owner.key, { role_ids: ['role_admin'] })).json;
    const weak = (await create(owner.key, { role_ids: ['role_viewer'] })).json;
    expect(await create(operator, { service_account_id: strong.principal_id })).toMatchObject(escalation);
    expect(await create(operator, { service_account_id: weak.principal_id })).toMatchObject({ status: 201 });
  });

  it('not by leaving out the scopes that narrow the caller', async () => {
    const narrow = (await create(owner.key, { bound_to: 'user', scopes: ['api_keys:write'] })).json.key;
    expect(await create(narrow, { bound_to: 'user' })).toMatchObject(escalation);
    expect(await create(narrow, { bound_to: 'user', scopes: ['api_keys:read', 'runs:read'] })).toMatchObject(
      escalation,
    );
    expect(await create(narrow, { scopes: ['api_keys:read'], role_ids: ['role_admin'] })).toMatchObject(escalation);
    expect(await create(narrow, { bound_to: 'user', scopes: ['api_keys:read'] })).toMatchObject({ status: 201 });
  });

  it('K-75: and the attempt is on record, with nothing else', async () => {
    const operator = (await create(owner.key, { role_ids: ['role_operator'] })).json;
    await create(operator.key, { name: 'never', role_ids: ['role_admin'] });
    const { json } = await app.call('GET', `/api/v1/audit?actor_principal_id=${operator.principal_id}`, {
      key: owner.key,
    });
    expect(json).toMatchObject([
      { action: 'api_key.create', status: 'failure', detail: { outcome: 'failed', code: 'access.escalation' } },
    ]);
    expect(await app.database.query(`SELECT 1 FROM principal WHERE name = 'never'`)).toEqual([]);
  });
});
