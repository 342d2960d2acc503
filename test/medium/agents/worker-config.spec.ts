import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';
import { tell } from '../workers/wire.ts';
import { Asking } from '../gateway/asking.ts';

let asking: Asking;
let other: RunningApp;
beforeAll(async () => {
  asking = await Asking.open({ SIGNALBOX_SWEEP_SECONDS: '0.2' });
  other = await startApp({ env: { SIGNALBOX_SWEEP_SECONDS: '0.2' }, database: asking.scene.app.database });
  await pause(1_100); // until both know that they are two
});
afterAll(async () => {
  await other.stop();
  await asking.close();
});

const PROMPT = { type: 'prompt_append', text: 'Be brief.' };
const SKILL = { type: 'skill_set', skill_id: 'greet', text: 'Say hello.' };
const SERVER = {
  type: 'mcp_server_set',
  name: 'tickets',
  server: { url: 'https://mcp.test', headers: { 'X-Key': '${KEY}' } },
};
const RULE = {
  id: 'shell',
  name: 'Shell',
  outcome: 'ask',
  criteria: [{ tool_patterns: ['Bash'] }],
  window_seconds: 700,
};
const EMPTY_RULES = { version: '', rules: [], default_outcome: 'allow', default_rule_id: '', default_rule_name: '' };

const put = (worker: StubWorker, body: object, query = '') =>
  asking.scene.app.call('PUT', `/api/v1/agents/${worker.handle}/worker-config${query}`, {
    key: asking.scene.key,
    body,
  });
const get = (worker: StubWorker, more = '') =>
  asking.scene.app.call('GET', `/api/v1/agents/${worker.handle}/worker-config${more}`, { key: asking.scene.key });

/** Fetches its bundle and says that it runs it, as the SDK does at its start. */
async function pull(worker: StubWorker): Promise<Json> {
  const { payload } = await worker.frame('config_request');
  await tell(worker, 'config_ack', { version: payload.config.version });
  return payload.config;
}

describe('what workers are configured with', () => {
  it('is nothing until somebody sets it: bundle and job say so', async () => {
    const worker = await asking.scene.worker();
    const { status, json } = await get(worker);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      ...{ revision: 0, version: '', skills_version: '', action_rules_version: '', ops: [], action_rules: EMPTY_RULES },
      ...{ note: null, created_at: null, created_by: null, restarts_workers: false },
      workers: [{ worker_id: worker.id, applied_version: null, unsupported_ops: [], acked_at: null }],
    });
    expect(await pull(worker)).toEqual({ version: '' });
    await asking.scene.queue(worker);
    const job = await worker.claimSoon();
    expect(Object.keys(job).filter((name) => name.endsWith('_version'))).toEqual([]);
    expect((await get(worker, '/versions')).json).toEqual([]);
  });

  it('is what was put, in bundle, job and view alike, by versions that one function makes', async () => {
    const worker = await asking.scene.worker();
    const body = { ops: [PROMPT, SERVER, SKILL], action_rules: { rules: [RULE] }, note: 'first' };
    const { status, json } = await put(worker, body);
    expect({ status, json }).toMatchObject({ status: 200 });
    expect(json).toMatchObject({
      ...{ revision: 1, ops: body.ops, note: 'first', restarts_workers: true },
      created_by: expect.stringMatching(/^prn_/),
      action_rules: { ...EMPTY_RULES, version: json.action_rules_version, rules: [RULE] },
    });
    const bundle = await pull(worker);
    expect(bundle).toEqual({
      version: json.version,
      skills_version: json.skills_version,
      ops: [PROMPT, SERVER, { ...SKILL, name: 'greet' }],
      action_rules_version: json.action_rules_version,
      action_rules: json.action_rules,
    });
    await asking.scene.queue(worker);
    expect(await worker.claimSoon()).toMatchObject({
      config_version: json.version,
      skills_version: json.skills_version,
      action_rules_version: json.action_rules_version,
    });
    const shown = (await get(worker)).json;
    expect(shown).toMatchObject({ version: json.version, restarts_workers: false });
    expect(shown.workers).toEqual([
      { worker_id: worker.id, applied_version: json.version, unsupported_ops: [], acked_at: expect.any(String) },
    ]);
    const detail = await asking.scene.get(`/api/v1/workers/${worker.id}`);
    expect(detail.config).toEqual({
      wanted_version: json.version,
      applied_version: json.version,
      unsupported_ops: [],
    });
  });

  it('worker-protocol §23.7: taken away again, is named as empty by jobs, so that a worker that runs it notices', async () => {
    const worker = await asking.scene.worker();
    await put(worker, { ops: [PROMPT] });
    await pull(worker);
    expect((await put(worker, {})).json).toMatchObject({ version: '', restarts_workers: true });
    expect(await pull(worker)).toMatchObject({ version: '', ops: [] });
    await asking.scene.queue(worker);
    expect(await worker.claimSoon()).toMatchObject({
      config_version: '',
      skills_version: '',
      action_rules_version: '',
    });
  });

  it('restarts workers only where prompts or servers change, and gets the old version with the old content', async () => {
    const worker = await asking.scene.worker();
    const first = (await put(worker, { ops: [PROMPT] })).json;
    const rules = (await put(worker, { ops: [PROMPT], action_rules: { rules: [RULE] } })).json;
    expect(rules).toMatchObject({ version: first.version, restarts_workers: false, revision: 2 });
    const skills = (await put(worker, { ops: [PROMPT, SKILL], action_rules: { rules: [RULE] } })).json;
    expect(skills).toMatchObject({ version: first.version, restarts_workers: false });
    const servers = (await put(worker, { ops: [PROMPT, SERVER] })).json;
    expect(servers.version).not.toBe(first.version);
    const again = (await put(worker, { ops: [PROMPT] })).json;
    expect(again).toMatchObject({ version: first.version, restarts_workers: true, revision: 5 });
    expect((await put(worker, { ops: [PROMPT] })).json).toEqual({ ...again, restarts_workers: false });
    expect((await get(worker, `?version=${servers.version}`)).json).toMatchObject({
      ops: [PROMPT, SERVER],
      revision: 4,
    });
    expect((await get(worker, '?version=never')).json.detail[0].loc).toEqual(['query', 'version']);
  });

  it('shows who changed it when, page by page, and how many workers run it', async () => {
    const worker = await asking.scene.worker();
    for (const text of ['one', 'two', 'three']) await put(worker, { ops: [{ ...PROMPT, text }], note: text });
    await pull(worker);
    const page = await get(worker, '/versions?limit=2');
    expect(page.json.map(({ note, workers_on_it }: Json) => [note, workers_on_it])).toEqual([
      ['three', 1],
      ['two', 0],
    ]);
    const rest = await get(worker, `/versions?cursor=${page.headers.get('x-next-cursor')}`);
    expect(rest.json).toMatchObject([{ note: 'one', revision: 1, created_by: expect.stringMatching(/^prn_/) }]);
    expect((await get(worker, '/versions?cursor=x')).status).toBe(422);
  });

  it('is not put over what somebody else has put meanwhile', async () => {
    const worker = await asking.scene.worker();
    const first = (await put(worker, { ops: [PROMPT], base_version: '', base_revision: 0 })).json;
    for (const base of [{ base_version: '' }, { base_revision: 0 }, { base_version: 'x' }]) {
      const { status, json } = await put(worker, { ops: [], ...base });
      expect({ status, code: json.code }).toEqual({ status: 409, code: 'worker_config.changed' });
    }
    await put(worker, { ops: [PROMPT], action_rules: { rules: [RULE] }, base_version: first.version });
    const late = { ops: [PROMPT], action_rules: { rules: [] } };
    expect((await put(worker, { ...late, base_revision: first.revision })).json.code).toBe('worker_config.changed');
    const at = [1, 2, 3, 4].map((number) => put(worker, { ops: [{ ...PROMPT, text: `${number}` }], base_revision: 2 }));
    const statuses = (await Promise.all(at)).map(({ status }) => status).sort();
    expect(statuses).toEqual([200, 409, 409, 409]);
  });

  it('can be tried: a dry run says what would be stored, and stores nothing', async () => {
    const worker = await asking.scene.worker();
    const tried = (await put(worker, { ops: [PROMPT] }, '?dry_run=true')).json;
    expect(tried).toMatchObject({ ops: [PROMPT], restarts_workers: true, created_at: null });
    expect((await get(worker)).json).toMatchObject({ version: '', revision: 0 });
    expect((await put(worker, { ops: [PROMPT] })).json.version).toBe(tried.version);
    const answer = await put(worker, { ops: [{ type: 'prompt' }] }, '?dry_run=1');
    expect(answer.status).toBe(422);
  });

  it.each<[object, (string | number)[]]>([
    [{ ops: [PROMPT, { type: 'prompt_drop' }] }, ['ops', 1, 'type']],
    [{ ops: [{ type: 'prompt_append' }] }, ['ops', 0, 'text']],
    [{ ops: [{ type: 'mcp_server_set', name: 'x' }] }, ['ops', 0, 'server']],
    [{ ops: [{ type: 'mcp_server_set', server: {} }] }, ['ops', 0, 'name']],
    [{ ops: [{ type: 'skill_set', name: 'x' }] }, ['ops', 0, 'skill_id']],
    [{ ops: [{ ...SKILL, resources: [{ path: '../x', content: '' }] }] }, ['ops', 0, 'resources', 0, 'path']],
    [{ ops: [{ ...SKILL, resources: [{ path: '/etc/x', content: '' }] }] }, ['ops', 0, 'resources', 0, 'path']],
    [
      { ops: [{ ...SERVER, server: { headers: { Authorization: 'Bearer sesame' } } }] },
      ['ops', 0, 'server', 'headers', 'Authorization'],
    ],
    [{ action_rules: { rules: [{ ...RULE, outcome: 'block' }] } }, ['action_rules', 'rules', 0, 'outcome']],
    [{ action_rules: { rules: [{ ...RULE, window_seconds: 60 }] } }, ['action_rules', 'rules', 0, 'window_seconds']],
    [{ action_rules: { rules: [{ ...RULE, criteria: [] }] } }, ['action_rules', 'rules', 0, 'criteria']],
    [
      {
        action_rules: {
          rules: [
            { ...RULE, criteria: [{ tool_patterns: ['B'], arg_conditions: [{ arg: 'a', op: 'is', value: 1 }] }] },
          ],
        },
      },
      ['action_rules', 'rules', 0, 'criteria', 0, 'arg_conditions', 0, 'op'],
    ],
    [{ action_rules: { rules: [RULE, RULE] } }, ['action_rules', 'rules', 1, 'id']],
    [{ action_rules: { default_outcome: 'maybe' } }, ['action_rules', 'default_outcome']],
    [{ prompts: [] }, []],
  ])('%j is refused where it is wrong, and nothing is stored', async (body, at) => {
    const worker = await asking.scene.worker();
    const { status, json, text } = await put(worker, body);
    expect(status).toBe(422);
    expect(json.detail[0].loc).toEqual(['body', ...at]);
    expect(text).not.toContain('sesame');
    expect((await get(worker)).json.revision).toBe(0);
  });
});

describe('workers that hold another configuration', () => {
  const changed = (worker: StubWorker) => worker.heard.filter(({ type }) => type === 'config_changed');

  it('are told once on a channel, on whichever replica; who has not fetched one yet, or knows nothing of it, is not', async () => {
    const first = await asking.scene.worker();
    const colleague = (manifest: object = {}, at = asking.scene.app) =>
      startStub(at, asking.scene.key, { handle: first.handle, token: first.token, manifest: { ...manifest } });
    const far = await colleague({}, other);
    const starting = await colleague();
    const old = await colleague({ sdk_version: '0.3.4' });
    for (const worker of [first, far, old]) await pull(worker);
    for (const worker of [first, far, starting, old]) await worker.open();
    const { json } = await put(first, { ops: [PROMPT], action_rules: { rules: [RULE] } });
    const { version, skills_version, action_rules_version } = json;
    for (const worker of [first, far])
      expect((await worker.hears('config_changed')).payload).toEqual({ version, skills_version, action_rules_version });
    await pause(1_500); // a sweep or more
    for (const worker of [first, far, starting, old]) expect(changed(worker)).toEqual([]);
    for (const worker of [first, far, starting, old]) worker.close();
  });

  it('are told again on a new channel, until they have fetched it', async () => {
    const worker = await asking.scene.worker();
    await pull(worker);
    await put(worker, { ops: [], action_rules: { rules: [RULE] } }); // while there is no channel
    for (let channel = 0; channel < 2; channel += 1) {
      await worker.open();
      await worker.hears('config_changed');
      worker.close();
    }
    await pull(worker);
    await worker.open();
    await pause(1_500);
    expect(changed(worker)).toEqual([]);
    worker.close();
  });

  it('are not mistaken for a process that starts under the same id', async () => {
    const worker = await asking.scene.worker();
    await pull(worker);
    await put(worker, { ops: [PROMPT] });
    await worker.open(); // the channel is there before the registration, as with the SDK
    await worker.register();
    await pause(2_000);
    expect(changed(worker)).toEqual([]);
    worker.close();
  });
});

describe('rules', () => {
  it('U-53: decide how long a question stays open; one that is gone asks nobody, one that refuses refuses', async () => {
    const worker = await asking.scene.worker();
    await put(worker, {
      action_rules: { rules: [RULE, { ...RULE, id: 'other', outcome: 'deny' }], window_seconds: 400 },
    });
    const runId = await asking.scene.running(worker);
    const asked = await asking.ask(worker, runId, { rule_id: 'shell', window_seconds: 300 });
    const view = await asking.show(asked.approval_id);
    expect(Date.parse(view.expires_at) - Date.parse(view.asked_at)).toBe(700_000);
    expect(await asking.ask(worker, runId, { rule_id: 'other', tool_use_id: 't2' })).toEqual({
      ...{ approval_id: '', state: 'denied' },
      reason: 'A rule refuses this: Shell.',
    });
    await put(worker, { action_rules: { rules: [] } });
    expect(await asking.ask(worker, runId, { rule_id: 'shell', tool_use_id: 't3' })).toEqual({
      ...{ approval_id: '', state: 'not_governed' },
    });
    expect(await asking.ask(worker, runId, { rule_id: 'shell', window_seconds: 300 })).toEqual(asked); // asked before
    expect((await asking.ask(worker, runId, { rule_id: 'its own', tool_use_id: 't4' })).state).toBe('pending');
    await eventually(async () => expect(await asking.list(`run_id=${runId}`)).toHaveLength(2));
  });
});
