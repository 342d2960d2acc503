import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const AUTHZ = '/api/v1/authz';

type Method = Parameters<RunningApp['call']>[0];

let app: RunningApp;
let owner: Awaited<ReturnType<RunningApp['account']>>;
let other: Awaited<ReturnType<RunningApp['account']>>;

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
  other = await app.account();
});
afterAll(() => app.stop());

async function ask(method: Method, path: string, body?: object, key = owner.key): Promise<Json> {
  const { status, json } = await app.call(method, path, { key, body });
  expect({ path, status, json, isDone: status === 200 || status === 201 }).toMatchObject({ isDone: true });
  return json;
}

async function refusal(method: Method, path: string, body: object, key = owner.key): Promise<unknown> {
  const { status, json } = await app.call(method, path, { key, body });
  return [status, json.code];
}

/** A service account with a key. */
async function robot(name: string, ...roleIds: string[]): Promise<{ id: string; key: string }> {
  const made = await ask('POST', '/api/v1/api-keys', { name, role_ids: roleIds });
  return { id: made.principal_id, key: made.key };
}

const rolesPath = (id: string, what = 'service-accounts') => `${AUTHZ}/${what}/${id}/roles`;
const check = (principal_id: string, capability: string, key = owner.key) =>
  ask('POST', `${AUTHZ}/access/check`, { principal_id, capability, resource_type: 'account', resource_id: '*' }, key);

describe('roles of principals', () => {
  it('K-65: count from the answer on, and come back in their order', async () => {
    const { id, key } = await robot('grows');
    const agents = () => app.call('GET', '/api/v1/agents', { key });
    expect((await agents()).json.code).toBe('access.denied');
    for (const role_ids of [['role_viewer', 'role_auditor'], ['role_auditor', 'role_viewer', 'role_runner'], []]) {
      expect(await ask('PUT', rolesPath(id), { role_ids })).toEqual({
        principal_id: id,
        display_name: 'grows',
        role_ids,
      });
      const listed = await ask('GET', `${AUTHZ}/service-accounts`);
      expect(listed).toContainEqual({ principal_id: id, display_name: 'grows', role_ids, attributes: {} });
      expect((await agents()).status).toBe(role_ids.length > 0 ? 200 : 403);
    }
    const [row] = await ask('GET', `/api/v1/audit?target=${id}&limit=1`);
    expect(row).toMatchObject({
      action: 'role.assign',
      category: 'authorization',
      detail: { before: { role_ids: ['role_auditor', 'role_viewer', 'role_runner'] }, after: { role_ids: [] } },
    });
  });

  it('K-57: what a person may do their key may do, no more and no less', async () => {
    const member = await ask('POST', '/api/v1/accounts/members', { email: 'grace@example.com' });
    const { id: keyId, key } = await ask('POST', '/api/v1/api-keys', { name: 'hers' });
    await app.database.query('UPDATE api_key SET principal_id = $1 WHERE id = $2', [member.principal_id, keyId]);
    expect((await app.call('GET', '/api/v1/runs', { key })).status).toBe(403);
    const given = await ask('PUT', rolesPath(member.principal_id, 'members'), { role_ids: ['role_viewer'] });
    expect(given).toEqual({
      principal_id: member.principal_id,
      email: 'grace@example.com',
      full_name: null,
      role_ids: ['role_viewer'],
    });
    expect((await app.call('GET', '/api/v1/runs', { key })).status).toBe(200);
    expect((await app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'x' } })).status).toBe(403);
  });

  it('U-47: nobody gives what they do not hold, takes from whoever holds more, or takes the last administrator away', async () => {
    const operator = await robot('operator', 'role_operator');
    const plain = await robot('plain');
    const admin = await robot('admin', 'role_admin');
    const denied = [403, 'access.escalation'];
    for (const [id, role_ids] of [
      [plain.id, ['role_admin']],
      [plain.id, ['role_runner']],
      [operator.id, ['role_operator', 'role_runner']],
      [admin.id, []],
    ] as const)
      expect([id, await refusal('PUT', rolesPath(id), { role_ids }, operator.key)]).toEqual([id, denied]);
    expect(await ask('PUT', rolesPath(plain.id), { role_ids: ['role_auditor'] }, operator.key)).toMatchObject({
      role_ids: ['role_auditor'],
    });
    const last = rolesPath(owner.ownerId, 'members');
    expect(await refusal('PUT', last, { role_ids: ['role_viewer'] })).toEqual([409, 'access.last_admin']);
    const [mine] = (await ask('GET', `${AUTHZ}/members`)).filter((one: Json) => one.principal_id === owner.ownerId);
    expect(mine.role_ids).toEqual(['role_admin']);
  });

  it('refuses what is no role by its place, and principals of another kind or account like missing ones', async () => {
    const { id } = await robot('target');
    const { status, json } = await app.call('PUT', rolesPath(id), {
      key: owner.key,
      body: { role_ids: ['role_viewer', 'role_root'] },
    });
    expect([status, json.detail?.[0]?.loc]).toEqual([422, ['body', 'role_ids', 1]]);
    for (const path of [
      rolesPath('prn_nobody'),
      rolesPath(id, 'members'),
      rolesPath(id, 'agents'),
      rolesPath(owner.ownerId),
    ])
      expect([path, await refusal('PUT', path, { role_ids: [] })]).toEqual([path, [404, 'principal.not_found']]);
    expect(await refusal('PUT', rolesPath(id), { role_ids: [] }, other.key)).toEqual([404, 'principal.not_found']);
  });

  it('an agent is a principal from its first token on, named by id or handle, and may do beside its work what it is given', async () => {
    const { token } = await ask('POST', '/api/v1/agents/worker-token', { agentId: 'helper' });
    const runs = () => app.call('GET', '/api/v1/runs', { key: token });
    expect((await runs()).status).toBe(403);
    const agent = await ask('PUT', rolesPath('helper', 'agents'), { role_ids: ['role_viewer'] });
    expect(agent).toEqual({
      agent_id: agent.principal_id,
      principal_id: agent.principal_id,
      name: 'helper',
      role_ids: ['role_viewer'],
    });
    expect((await runs()).status).toBe(200);
    expect((await ask('GET', `${AUTHZ}/agents`)).at(-1)).toEqual(agent);
    expect((await ask('GET', `${AUTHZ}/principals`)).at(-1)).toEqual({
      id: agent.agent_id,
      kind: 'agent',
      name: 'helper',
      subtitle: null,
      agent_id: agent.agent_id,
    });
    await ask('PUT', rolesPath(agent.agent_id, 'agents'), { role_ids: [] });
    expect((await runs()).status).toBe(403);
  });
});

describe('attributes', () => {
  it('are replaced as a whole, and are texts', async () => {
    const { id } = await robot('noted');
    const path = `${AUTHZ}/service-accounts/${id}/attributes`;
    for (const attributes of [{ team: 'signals', __proto: 'x' }, { region: 'eu' }, {}])
      expect(await ask('PUT', path, { attributes })).toMatchObject({ principal_id: id, attributes });
    expect(await refusal('PUT', path, { attributes: { team: 1 } })).toEqual([422, 'input.invalid']);
    expect(await refusal('PUT', path, { attributes: { team: 'a\u0000' } })).toEqual([422, 'input.invalid']);
    expect(await refusal('PUT', path, { attributes: {} }, other.key)).toEqual([404, 'principal.not_found']);
  });
});

describe('questions', () => {
  it('are answered as enforcement would, with the grant that decided; about oneself by anybody', async () => {
    const viewer = await robot('asked', 'role_viewer');
    const nobody = await robot('nobody');
    expect(await check(viewer.id, 'run.read')).toEqual({ allowed: true, reason: 'granted', matched_grant_id: null });
    expect(await check(viewer.id, 'run.cancel')).toMatchObject({ allowed: false, reason: 'no_grant' });
    expect(await check(nobody.id, 'run.read', nobody.key)).toMatchObject({ allowed: false });
    const about = { principal_id: viewer.id, capability: 'run.read', resource_type: 'account', resource_id: '*' };
    expect(await refusal('POST', `${AUTHZ}/access/check`, about, nobody.key)).toEqual([403, 'access.denied']);
    const lines = await ask('GET', `${AUTHZ}/principals/${viewer.id}/effective-access`, undefined, viewer.key);
    expect(lines).toContainEqual({
      capability: 'run.read',
      resource_type: '*',
      resource_id: '*',
      resource_label: null,
      source: 'role',
      via: 'viewer',
      grant_id: 'role_viewer',
    });
    expect(await ask('GET', `${AUTHZ}/principals/${nobody.id}/effective-access`)).toEqual([]);
  });

  it('name what does not exist, here as elsewhere', async () => {
    const body = { principal_id: other.ownerId, capability: 'run.fly', resource_type: 'train', resource_id: '*' };
    const { status, json } = await app.call('POST', `${AUTHZ}/access/check`, { key: owner.key, body });
    expect([status, json.detail.map(({ loc }: Json) => loc)]).toEqual([
      422,
      [
        ['body', 'principal_id'],
        ['body', 'capability'],
        ['body', 'resource_type'],
      ],
    ]);
    const foreign = await app.call('GET', `${AUTHZ}/principals/${other.ownerId}/effective-access`, { key: owner.key });
    expect([foreign.status, foreign.json.code]).toEqual([404, 'principal.not_found']);
  });
});
