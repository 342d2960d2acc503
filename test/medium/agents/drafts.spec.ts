import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubWorker, startStub } from '../../support/stub-worker.ts';
import { tokenFor, type Account } from '../workers/wire.ts';

const DRAFTS = '/api/v1/agents/drafts';

let app: RunningApp;
let account: Account;
let drafts = 0;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

const newName = (): string => `draft-${(drafts += 1)}`;
const create = (body: object, key = account.key) => app.call('POST', DRAFTS, { key, body });
const save = (ref: string, body: object, key = account.key) =>
  app.call('PATCH', `/api/v1/agents/${encodeURIComponent(ref)}/draft`, { key, body });
const patch = (ref: string, what: string, body?: object) =>
  app.call('PATCH', `/api/v1/agents/${encodeURIComponent(ref)}/${what}`, { key: account.key, body });
const show = async (ref: string, key = account.key) =>
  (await app.call('GET', `/api/v1/agents/${encodeURIComponent(ref)}`, { key })).json;

describe('a draft', () => {
  it('K-3: is an agent without a sign of life: listed, never online, and its configuration is what was sent', async () => {
    const name = newName();
    const config = JSON.parse(
      '{"__proto__": {"a": 1}, "constructor": [], "": null, "n": -0.5, "deep": {"er": ["é", "\\u0065\\u0301"]}}',
    );
    const made = await create({ agent_id: name, config, display_name: ' Drafted ' });
    expect(made.status).toBe(200);
    expect(made.json).toMatchObject({
      id_slug: name,
      name: ' Drafted ',
      status: 'draft',
      is_enabled: true,
      instances: [],
    });
    expect(made.text).toContain('"__proto__":{"a":1}');
    expect(made.json.draft_config).toEqual(config);
    expect(await show(name)).toEqual(made.json);
    expect(await show(made.json.agent_id)).toEqual(made.json);
    const { json: list } = await app.call('GET', '/api/v1/agents', { key: account.key });
    expect(list).toContainEqual(made.json);
  });

  it('of nothing but a name has an empty configuration and no other name', async () => {
    expect((await create({ agent_id: newName() })).json).toMatchObject({ name: '', draft_config: {}, labels: {} });
  });

  it('that is made again is answered as it stands: what was saved since is not put back', async () => {
    const name = newName();
    const first = (await create({ agent_id: name, config: { a: 1 }, display_name: 'one' })).json;
    expect((await create({ agent_id: name, config: { a: 1 }, display_name: 'one' })).json).toEqual(first);
    const saved = (await save(name, { config: { a: 2 } })).json;
    expect(saved).toEqual({ ...first, draft_config: { a: 2 } });
    expect((await create({ agent_id: name, config: { a: 1 }, display_name: 'one' })).json).toEqual(saved);
    expect((await create({ agent_id: first.agent_id })).json).toEqual(saved); // named by its id
  });

  it('that many make at once is one', async () => {
    const name = newName();
    const made = await Promise.all(Array.from({ length: 12 }, () => create({ agent_id: name })));
    expect(new Set(made.map(({ status, json }) => `${status} ${json.agent_id}`)).size).toBe(1);
    const token = await Promise.all([tokenFor(app, account, name), create({ agent_id: newName() })]);
    expect(token).toHaveLength(2);
  });

  it('whose token is made at the same moment has the id that the token speaks for', async () => {
    for (let round = 0; round < 6; round += 1) {
      const name = newName();
      const [token, made] = await Promise.all([tokenFor(app, account, name), create({ agent_id: name })]);
      const worker = new StubWorker(app.url, token, { handle: name });
      expect((await worker.register()).payload.agent_id).toBe(made.json.agent_id);
    }
  });
});

describe('saving a draft', () => {
  it('keeps what is left out or null, and takes the empty for a value', async () => {
    const name = newName();
    await create({ agent_id: name, config: { a: 1 }, display_name: 'one' });
    expect((await save(name, {})).json).toMatchObject({ draft_config: { a: 1 }, name: 'one' });
    expect((await save(name, { config: null, display_name: null })).json).toMatchObject({
      draft_config: { a: 1 },
      name: 'one',
    });
    expect((await save(name, { display_name: 'two' })).json).toMatchObject({ draft_config: { a: 1 }, name: 'two' });
    expect((await save(name, { config: {}, display_name: '' })).json).toMatchObject({ draft_config: {}, name: '' });
  });

  it('from two places at once loses no field, and the last word counts', async () => {
    const name = newName();
    await create({ agent_id: name });
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_, n) => [
        save(name, { config: { n, text: 'x'.repeat(n) } }),
        save(name, { display_name: `name ${n}` }),
      ]).flat(),
    );
    expect(saved.map(({ status }) => status)).toEqual(saved.map(() => 200));
    const { draft_config: config, name: shown } = await show(name);
    expect(config.text).toBe('x'.repeat(config.n)); // whole, of one of them
    expect(shown).toMatch(/^name \d$/);
    await save(name, { config: { last: true } });
    expect(await show(name)).toMatchObject({ draft_config: { last: true }, name: shown });
  });

  it.each([
    [{ agent_id: 'x', config: [] }, 'config'],
    [{ agent_id: 'x', config: 'text' }, 'config'],
    [{ agent_id: 'x', display_name: 7 }, 'display_name'],
    [{ agent_id: 'x', display_name: 'x'.repeat(1_001) }, 'display_name'],
    [{ agent_id: 'x', config: { a: '\0' } }, 'config'],
    [{ agent_id: 'x', config: { a: '\ud800' } }, 'config'],
    [{ config: {} }, 'agent_id'],
  ])('of %j is 422 and names the field, when it is made and when it is saved', async (body, field) => {
    const made = await create(body);
    expect([made.status, made.json.detail?.[0]?.loc?.slice(0, 2)]).toEqual([422, ['body', field]]);
    if (field === 'agent_id') return;
    const name = newName();
    const before = (await create({ agent_id: name, config: { kept: true } })).json;
    const saved = await save(name, { ...body, agent_id: undefined });
    expect([saved.status, saved.json.detail?.[0]?.loc?.slice(0, 2)]).toEqual([422, ['body', field]]);
    expect(await show(name)).toEqual(before);
  });

  it('of another account’s agent is the 404 of a missing one, and a draft there is another agent', async () => {
    const name = newName();
    const mine = (await create({ agent_id: name, config: { mine: true } })).json;
    const { key } = await app.account();
    for (const ref of [name, mine.agent_id, 'nobody']) {
      const { status, json } = await save(ref, { config: {} }, key);
      expect([status, json.code]).toEqual([404, 'agent.not_found']);
    }
    const theirs = (await create({ agent_id: name }, key)).json;
    expect(theirs.agent_id).not.toBe(mine.agent_id);
    expect(await show(name)).toEqual(mine);
  });
});

describe('the first sign of life', () => {
  it('makes the draft live with the same id, and keeps what was decided about it', async () => {
    const name = newName();
    const { agent_id: id } = (await create({ agent_id: name, config: { a: 1 }, display_name: 'Typed' })).json;
    await patch(name, 'disable');
    await patch(name, 'labels', { labels: { team: 'blue' } });
    await patch(name, 'mcp-group', { mcp_group_id: null });
    const worker = await startStub(app, account.key, {
      handle: name,
      manifest: { name: 'Said', labels: { team: 'red', zone: 'eu' } },
    });
    expect(await show(name)).toMatchObject({
      ...{ agent_id: id, id_slug: name, status: 'online', name: 'Said' },
      ...{ is_enabled: false, labels: { team: 'blue' }, mcp_group_id: null, draft_config: { a: 1 } },
      instances: [{ worker_id: worker.id }],
    });
  });

  it('ends drafting: the name makes no draft, and nothing is saved any more', async () => {
    const { handle } = await startStub(app, account.key, { handle: newName() });
    const before = await show(handle);
    for (const { status, json } of [
      await create({ agent_id: handle }),
      await create({ agent_id: before.agent_id }),
      await save(handle, { config: {} }),
    ])
      expect([status, json.code]).toEqual([409, 'agent.live']);
    expect(await show(handle)).toEqual(before);
    await patch(handle, 'archive');
    expect((await create({ agent_id: handle })).status).toBe(409);
  });

  it('and a save at the same moment: the live agent is what its worker said', async () => {
    for (let round = 0; round < 8; round += 1) {
      const name = newName();
      await create({ agent_id: name });
      const worker = new StubWorker(app.url, await tokenFor(app, account, name), {
        handle: name,
        manifest: { name: 'Said' },
      });
      const saves = Array.from({ length: 4 }, () => save(name, { display_name: 'Typed' }));
      await Promise.all([worker.register(), ...saves]);
      expect((await show(name)).name).toBe('Said');
      for (const { status } of await Promise.all(saves)) expect([200, 409]).toContain(status);
    }
  });
});

describe('labels and groups', () => {
  it('labels are replaced as a whole, kept as sent, and left alone by null and by what workers say', async () => {
    const worker = await startStub(app, account.key, { handle: newName(), manifest: { labels: { by: 'worker' } } });
    const { handle } = worker;
    expect((await patch(handle, 'labels', {})).json.labels).toEqual({ by: 'worker' });
    expect((await patch(handle, 'labels', { labels: null })).json.labels).toEqual({ by: 'worker' });
    const odd = JSON.parse('{"__proto__": "x", "Team": "", "team": " A "}');
    const labelled = await patch(handle, 'labels', { labels: odd });
    expect(labelled.text).toContain('"__proto__":"x"');
    expect(labelled.json.labels).toEqual(odd);
    await new StubWorker(app.url, worker.token, {
      handle,
      manifest: { version: '2', labels: { by: 'again' } },
    }).register();
    expect(await show(handle)).toMatchObject({ version: '2', labels: odd });
    expect((await patch(handle, 'labels', { labels: {} })).json.labels).toEqual({});
    expect((await show(handle)).labels).toEqual({});
  });

  it.each([
    [{ labels: [] }, ['body', 'labels']],
    [{ labels: 'text' }, ['body', 'labels']],
    [{ labels: { a: 1 } }, ['body', 'labels', 'a']],
    [{ labels: { a: null } }, ['body', 'labels', 'a']],
    [{ labels: { '': 'x' } }, ['body', 'labels', '']],
    [{ labels: { ['n'.repeat(64)]: 'x' } }, ['body', 'labels', 'n'.repeat(64)]],
    [{ labels: { a: 'x'.repeat(1_001) } }, ['body', 'labels', 'a']],
    [{ labels: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`l${n}`, 'x'])) }, ['body', 'labels']],
  ])('labels %j are 422 at %j, and change nothing', async (body, loc) => {
    const name = newName();
    const before = (await create({ agent_id: name })).json;
    const { status, json } = await patch(name, 'labels', body);
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
    expect(await show(name)).toEqual(before);
  });

  it('a group must exist, and none does; leaving it out is no answer; null takes the agent out of it', async () => {
    const name = newName();
    const before = (await create({ agent_id: name })).json;
    for (const body of [{ mcp_group_id: 'grp_1' }, { mcp_group_id: '' }, {}, { mcp_group_id: 7 }]) {
      const { status, json } = await patch(name, 'mcp-group', body);
      expect([status, json.detail[0].loc]).toEqual([422, ['body', 'mcp_group_id']]);
    }
    expect((await patch(name, 'mcp-group', { mcp_group_id: null })).json).toEqual(before);
    expect((await patch('nobody', 'mcp-group', { mcp_group_id: 'grp_1' })).status).toBe(404);
  });

  it('each call is one row on record, which says whether it changed anything and holds no configuration', async () => {
    const name = newName();
    await create({ agent_id: name, config: { instructions: 'kept out of the record' } });
    await create({ agent_id: name });
    await save(name, { config: { instructions: 'kept out of the record' } });
    await patch(name, 'labels', { labels: { a: 'b' } });
    await patch(name, 'labels', { labels: { a: 'b' } });
    await patch(name, 'mcp-group', { mcp_group_id: null });
    const { agent_id: id } = await show(name);
    const rows: Json[] = await app.database.query(
      `SELECT action, outcome, detail FROM audit_entry WHERE account_id = $1 AND target_id = ANY ($2) ORDER BY at, id`,
      [account.accountId, [name, id]],
    );
    expect(rows).toMatchObject([
      { action: 'agent.create_draft', outcome: 'done', detail: { changed: true } },
      { action: 'agent.create_draft', outcome: 'done', detail: { changed: false } },
      { action: 'agent.update_draft', outcome: 'done', detail: { config: true, display_name: false } },
      { action: 'agent.set_labels', outcome: 'done', detail: { labels: { a: 'b' }, changed: true } },
      { action: 'agent.set_labels', outcome: 'done', detail: { changed: false } },
      { action: 'agent.set_mcp_group', outcome: 'done', detail: { changed: false } },
    ]);
    expect(JSON.stringify(rows)).not.toContain('kept out');
  });
});
