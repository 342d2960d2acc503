import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { CREDENTIALS, VaultScene } from './scene.ts';

let app: RunningApp;
let scene: VaultScene;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  scene = new VaultScene(app, await app.account());
});
afterAll(() => app.stop());

const SECRET = 'hush-0123456789-ü';

describe('a credential', () => {
  it('comes back as it was sent, from create over read and list, without its value', async () => {
    const body = {
      name: 'Api_key-1',
      value: SECRET,
      description: ' as sent ',
      owner: 'x@y',
      labels: { b: '1', a: '' },
    };
    const { status, json: made } = await scene.call('POST', CREDENTIALS, body);
    const { value: _, ...known } = body;
    expect([status, made]).toEqual([
      201,
      {
        ...known,
        id: expect.stringMatching(/^cred_/),
        status: 'active',
        active_version: 1,
        created_at: expect.any(String),
        updated_at: expect.any(String),
        last_replaced_at: null,
        last_used_at: null,
        key_id: 'test',
        bound_agents: 0,
      },
    ]);
    expect((await scene.call('GET', `${CREDENTIALS}/${made.id}`)).json).toEqual(made);
    expect((await scene.call('GET', CREDENTIALS)).json).toEqual([made]);
  });

  it('that was sent with nothing but name and value has nothing else', async () => {
    const { json } = await scene.call('POST', CREDENTIALS, { name: 'bare', value: 'v' });
    expect(json).toMatchObject({ description: null, owner: null, labels: {} });
    expect(json).not.toHaveProperty('keys');
  });

  it('A12: with several parts shows their names only', async () => {
    const { json, text } = await scene.call('POST', CREDENTIALS, { name: 'db', value: '{"user":"me","pass":"hush"}' });
    expect(json.keys).toEqual(['user', 'pass']);
    expect(text).not.toContain('hush');
    const { json: after } = await scene.replace(json.id, 'one text');
    expect(after).not.toHaveProperty('keys');
  });

  it('changes where it is told, keeps what is left out or null, and its value has no part in it', async () => {
    const id = await scene.store('changing', SECRET);
    const path = `${CREDENTIALS}/${id}`;
    const first = await scene.call('PATCH', path, { description: 'd', owner: 'o', labels: { a: '1' } });
    expect(first.json).toMatchObject({ description: 'd', owner: 'o', labels: { a: '1' }, active_version: 1 });
    const second = await scene.call('PATCH', path, { description: null, owner: '', labels: {}, value: 'ignored' });
    expect(second.json).toMatchObject({ description: 'd', owner: '', labels: {}, status: 'active', active_version: 1 });
    expect((await scene.call('PATCH', path, { status: 'disabled' })).json.status).toBe('disabled');
    expect((await scene.call('GET', path)).json).toMatchObject({ status: 'disabled', description: 'd', owner: '' });
  });

  it('counts its values', async () => {
    const id = await scene.store('counted', 'one');
    const { status, json } = await scene.replace(id, 'two');
    expect([status, json]).toEqual([
      200,
      expect.objectContaining({ active_version: 2, last_replaced_at: expect.any(String) }),
    ]);
    expect(json.updated_at).toBe(json.last_replaced_at);
    await Promise.all(['a', 'b', 'c', 'd'].map((value) => scene.replace(id, value)));
    expect((await scene.call('GET', `${CREDENTIALS}/${id}`)).json.active_version).toBe(6);
  });

  it('is gone when it was deleted, and its name free', async () => {
    const id = await scene.store('gone', 'v');
    expect((await scene.call('DELETE', `${CREDENTIALS}/${id}`)).status).toBe(204);
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['DELETE', '', undefined],
      ['PATCH', '', {}],
      ['PUT', '/value', { value: 'v' }],
      ['GET', '/bindings', undefined],
      ['POST', '/bindings', { agent_id: 'a' }],
      ['DELETE', '/bindings/a', undefined],
    ] as const) {
      const { status, json } = await scene.call(method, `${CREDENTIALS}/${id}${path}`, body);
      expect([method, path, status, json.code]).toEqual([method, path, 404, 'credential.not_found']);
    }
    await scene.store('gone', 'again');
  });

  it('has a name of its own in its account; of ten at once one takes it', async () => {
    const bodies = Array.from({ length: 10 }, (_, at) => ({ name: 'taken', value: `v${at}` }));
    const answers = await Promise.all(bodies.map((body) => scene.call('POST', CREDENTIALS, body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    expect(answers.find(({ status }) => status === 409)?.json.code).toBe('credential.name_taken');
    const other = new VaultScene(app, await app.account());
    await other.store('taken', 'v');
  });
});

describe('D-13 U-39: a stored value', () => {
  it('is in no answer, no audit row and no table, in any column', async () => {
    const id = await scene.store('hushed', SECRET);
    await scene.call('PATCH', `${CREDENTIALS}/${id}`, { description: 'described' });
    await scene.replace(id, `${SECRET}-2`);
    await scene.call('POST', CREDENTIALS, { name: 'hushed', value: `${SECRET}-3` });
    for (const path of [CREDENTIALS, `${CREDENTIALS}/${id}`, '/api/v1/audit?limit=200'])
      expect((await scene.call('GET', path)).text).not.toContain('hush-');
    const tables = await app.database.query<{ name: string }>(
      `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace`,
    );
    for (const { name } of tables) {
      const rows = await app.database.query(`SELECT 1 FROM ${name} AS t WHERE t::text LIKE '%hush-0123%'`);
      const hex = Buffer.from('hush-0123').toString('hex');
      const raw = await app.database.query(`SELECT 1 FROM ${name} AS t WHERE t::text LIKE $1`, [`%${hex}%`]);
      expect([name, rows, raw]).toEqual([name, [], []]);
    }
  });

  it('leaves rows that say what was done by whom, and what changed of the rest', async () => {
    const id = await scene.store('audited', SECRET);
    await scene.replace(id, `${SECRET}-2`);
    await scene.call('PATCH', `${CREDENTIALS}/${id}`, { status: 'disabled' });
    await scene.call('DELETE', `${CREDENTIALS}/${id}`);
    const rows = await app.database.query(
      `SELECT action, target_id, detail FROM audit_entry WHERE account_id = $1 AND category = 'vault' ORDER BY at, id`,
      [scene.account.accountId],
    );
    expect(rows).toMatchObject([
      { action: 'credential.create', target_id: id, detail: { name: 'audited' } },
      { action: 'credential.rotate', detail: { version: 2 } },
      { action: 'credential.update', detail: { before: { status: 'active' }, after: { status: 'disabled' } } },
      { action: 'credential.delete', detail: { name: 'audited' } },
    ]);
  });
});

describe('what is no credential', () => {
  it.each([
    [{ name: 'a' }, 'value'],
    [{ value: 'a' }, 'name'],
    [{ name: 'a', value: '' }, 'value'],
    [{ name: 'a', value: 7 }, 'value'],
    [{ name: 'a', value: { user: 'u' } }, 'value'],
    [{ name: 'a', value: 'a\0b' }, 'value'],
    [{ name: 'a', value: 'x'.repeat(131_073) }, 'value'],
    [{ name: 'a', value: '{"a":"\\ud800"}' }, 'value'],
    [{ name: 'a', value: '{"a\\u0000":"b"}' }, 'value'],
    [{ name: '', value: 'v' }, 'name'],
    [{ name: '-a', value: 'v' }, 'name'],
    [{ name: 'a b', value: 'v' }, 'name'],
    [{ name: 'a\n', value: 'v' }, 'name'],
    [{ name: 'a'.repeat(64), value: 'v' }, 'name'],
    [{ name: 'agentops-mcp_token', value: 'v' }, 'name'],
    [{ name: 'a', value: 'v', labels: { a: 1 } }, 'labels'],
    [{ name: 'a', value: 'v', labels: ['a'] }, 'labels'],
    [{ name: 'a', value: 'v', description: 7 }, 'description'],
    [{ name: 'a', value: 'v', owner: 'o\0' }, 'owner'],
  ])('is refused at its place, without its value: %j', async (body, field) => {
    const { status, json, text } = await scene.call('POST', CREDENTIALS, body);
    expect([status, json.detail[0].loc.slice(0, 2)]).toEqual([422, ['body', field]]);
    if ('value' in body && String(body.value).length > 3) expect(text).not.toContain(String(body.value).slice(0, 40));
    expect((await scene.call('GET', CREDENTIALS)).json).toEqual([]);
  });

  it('is refused with half of a surrogate pair, written by hand', async () => {
    const { status, json } = await scene.call('POST', CREDENTIALS, String.raw`{"name":"a","value":"x\ud800"}`);
    expect([status, json.detail[0].loc]).toEqual([422, ['body', 'value']]);
  });

  it.each([
    [{ status: 'gone' }, 'status'],
    [{ labels: { a: null } }, 'labels'],
  ])('is not made of one by %j', async (body, field) => {
    const id = await scene.store('whole', 'v');
    const { status, json } = await scene.call('PATCH', `${CREDENTIALS}/${id}`, body);
    expect([status, json.detail[0].loc.slice(0, 2)]).toEqual([422, ['body', field]]);
  });
});

describe('U-46: credentials of another account', () => {
  it('are not there', async () => {
    const id = await scene.store('mine', 'v');
    const other = new VaultScene(app, await app.account());
    for (const [method, path, body] of [
      ['GET', `/${id}`, undefined],
      ['PATCH', `/${id}`, { status: 'disabled' }],
      ['PUT', `/${id}/value`, { value: 'theirs' }],
      ['POST', `/${id}/bindings`, { agent_id: 'theirs' }],
      ['DELETE', `/${id}`, undefined],
    ] as const)
      expect((await other.call(method, `${CREDENTIALS}${path}`, body)).status).toBe(404);
    expect((await scene.call('GET', `${CREDENTIALS}/${id}`)).json).toMatchObject({
      active_version: 1,
      status: 'active',
    });
  });
});
