import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Presence } from '../../../src/workers/index.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker } from '../../support/stub-worker.ts';
import { manifestOf, register, tell, tokenFor, workerOf as mint, type Account } from './wire.ts';

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

const workerOf = (handle: string, id?: string) => mint(app, account, handle, id);

async function show(workerId: string) {
  return app.call('GET', `/api/v1/workers/${encodeURIComponent(workerId)}`, { key: account.key });
}

async function row(workerId: string) {
  const [found] = await app.database.query(`SELECT *, xmin::text AS revision FROM worker WHERE id = $1`, [workerId]);
  return found;
}

describe('register', () => {
  it('K-2: is what makes a worker; before it the list does not know it', async () => {
    const worker = await workerOf('first');
    const listed = async () =>
      (await app.call('GET', '/api/v1/workers', { key: account.key })).json.map(
        (one: { worker_id: string }) => one.worker_id,
      );
    await tell(worker, 'keep_alive');
    expect(await listed()).not.toContain(worker.id);
    expect((await show(worker.id)).status).toBe(404);
    const { payload } = await register(worker, manifestOf('first', { pod_name: 'pod-1' }));
    expect(payload).toEqual({
      agent_id: expect.stringMatching(/^agent_/),
      worker_id: worker.id,
      status: 'online',
      last_heartbeat_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
    });
    expect(await listed()).toContain(worker.id);
    expect((await show(worker.id)).json).toMatchObject({
      agent_id: payload.agent_id,
      dialect: '0.3',
      pod_name: 'pod-1',
      claimed_handle: null,
    });
  });

  it('takes any id that is text, and refuses those that stand for something else with one text', async () => {
    const token = await tokenFor(app, account, 'names');
    const of = (workerId: string) => new StubWorker(app.url, token, { handle: 'names', workerId });
    for (const id of ['a/b', 'ü 日本', 'x'.repeat(200), '..%2f', 'wrk_1']) {
      expect((await register(of(id), manifestOf('names'))).status).toBe(200);
      expect((await show(id)).json.worker_id).toBe(id);
    }
    for (const id of ['secrets', 'slack-subscriptions', 'integrations', 'x'.repeat(201), 'a\u0085b', 'a\nb']) {
      const { status, payload } = await register(of(id), manifestOf('names'));
      expect({ id, status, payload }).toMatchObject({
        id,
        status: 422,
        payload: { code: 'input.invalid', detail: expect.any(String) },
      });
    }
  });

  it('refuses text that cannot be kept as it was sent, and nesting without end, with one text', async () => {
    const worker = await workerOf('poison');
    const nul = await register(worker, manifestOf('poison', { description: 'a\u0000b' }));
    expect(nul).toMatchObject({ status: 422, payload: { detail: expect.stringContaining('NUL') } });
    let deep: unknown = {};
    for (let level = 0; level < 200; level += 1) deep = { deep };
    const nested = await register(worker, manifestOf('poison', { labels: deep }));
    expect(nested).toMatchObject({ status: 422, payload: { detail: expect.stringContaining('deeper') } });
    expect((await app.call('GET', '/api/v1/agents/poison', { key: account.key })).status).toBe(404);
    const rows = await app.database.query(
      `SELECT 1 FROM audit_entry WHERE action = 'worker.register' AND outcome = 'refused' AND target_id = $1`,
      [worker.id],
    );
    expect(rows).toHaveLength(2);
  });

  it('keeps keys that mean something to JavaScript', async () => {
    const worker = await workerOf('prototype');
    const body = JSON.stringify({
      id: 'm',
      type: 'register',
      needsReply: true,
      payload: { manifest: manifestOf('prototype', { agent_card: { at: '@' } }) },
    });
    await app.call('POST', `/api/v1/workers/${worker.id}/frames`, {
      key: worker.token,
      body: body.replace('"at":"@"', '"__proto__":{"a":1},"constructor":2'),
    });
    const { text } = await show(worker.id);
    expect(text).toContain('"__proto__":{"a":1}');
    expect(text).toContain('"constructor":2');
  });

  it('K-8: under the id of another agent’s worker is 403 on record, and that worker is untouched', async () => {
    const owner = await workerOf('owner', 'shared-id');
    await register(owner, manifestOf('owner'));
    const before = await row('shared-id');
    const thief = await workerOf('thief', 'shared-id');
    expect(await register(thief, manifestOf('thief'))).toMatchObject({
      status: 403,
      payload: { code: 'worker.id_taken' },
    });
    for (const type of ['keep_alive', 'run_claim', 'heartbeat']) await tell(thief, type);
    await tell(thief, 'health_report', { ok: false, detail: 'gone' });
    await tell(thief, 'config_ack', { version: 'x' });
    await tell(thief, 'pong', { nonce: 'a.1' });
    await app.nest.get(Presence).flush();
    expect(await row('shared-id')).toEqual(before);
    expect((await app.call('GET', '/api/v1/agents/thief', { key: account.key })).status).toBe(404);
    const [refusal] = await app.database.query<{ detail: object }>(
      `SELECT detail FROM audit_entry WHERE action = 'worker.register' AND outcome = 'refused' AND target_id = 'shared-id'`,
    );
    expect(refusal?.detail).toMatchObject({ code: 'worker.id_taken' });
  });

  it('who only spoke under an id has no claim to it', async () => {
    const squatter = await workerOf('squatter', 'wanted-id');
    await tell(squatter, 'keep_alive');
    await app.nest.get(Presence).flush();
    expect(await row('wanted-id')).toMatchObject({ registered_at: null });
    const owner = await workerOf('rightful', 'wanted-id');
    expect((await register(owner, manifestOf('rightful'))).status).toBe(200);
    expect((await show('wanted-id')).json).toMatchObject({ agent_name: 'rightful' });
  });

  it('the same id in two accounts is two workers', async () => {
    const other = await app.account();
    await register(await workerOf('twin', 'twin-id'), manifestOf('twin', { version: 'mine' }));
    await register(await mint(app, other, 'twin', 'twin-id'), manifestOf('twin', { version: 'theirs' }));
    expect((await show('twin-id')).json.version).toBe('mine');
    expect((await app.call('GET', '/api/v1/workers/twin-id', { key: other.key })).json.version).toBe('theirs');
  });

  it('again under the same id starts afresh', async () => {
    const worker = await workerOf('again', 'again-id');
    const card = { name: 'again', capabilities: { replay: ['every_tool'] } };
    const manifest = manifestOf('again', { version: '2.1.0', labels: { zone: 'eu', gpu: true }, agent_card: card });
    await register(worker, manifest, { max_concurrent: 3 });
    expect(await row('again-id')).toMatchObject({ version: '2.1.0', labels: { zone: 'eu' }, can_replay: true });
    await app.database.query(
      `UPDATE worker SET mode = 'paused', mode_since = now(), mode_by = 'prn_x', mode_reason = 'noisy' WHERE id = 'again-id'`,
    );
    await tell(worker, 'run_claim');
    await tell(worker, 'health_report', { ok: true, detail: 'fine' });
    expect((await show('again-id')).json).toMatchObject({
      slots: { total: 3 },
      lights: { claim: { state: 'ok' } },
      health: { ok: true },
    });
    await register(worker, manifestOf('again'));
    expect((await show('again-id')).json).toMatchObject({
      slots: { total: 1 },
      lights: { claim: { state: 'down' } },
      health: null,
      mode: 'normal',
    });
    expect(await row('again-id')).toMatchObject({
      ...{ version: '1.0.0', labels: {}, can_replay: false },
      ...{ mode: 'normal', mode_since: null, mode_by: null, mode_reason: null },
    });
  });
});

describe('signs of life', () => {
  it('N-14: a claim, a pong and a frame are three facts', async () => {
    const worker = await workerOf('facts');
    await register(worker, manifestOf('facts'));
    const times = async () => {
      await app.nest.get(Presence).flush();
      const { last_seen_at, last_claim_at, last_pong_at, last_path } = (await row(worker.id)) ?? {};
      return { last_seen_at, last_claim_at, last_pong_at, last_path };
    };
    const first = await times();
    expect(first).toMatchObject({ last_claim_at: null, last_pong_at: null, last_path: 'frame' });
    await tell(worker, 'run_claim');
    const claimed = await times();
    expect(claimed).toMatchObject({ last_claim_at: claimed.last_seen_at, last_pong_at: null, last_path: 'claim' });
    await tell(worker, 'pong', { nonce: 'elsewhere.7' });
    const ponged = await times();
    expect(ponged).toMatchObject({
      last_claim_at: claimed.last_claim_at,
      last_pong_at: ponged.last_seen_at,
      last_path: 'pong',
    });
    await tell(worker, 'keep_alive');
    expect(await times()).toMatchObject({
      last_claim_at: claimed.last_claim_at,
      last_pong_at: ponged.last_pong_at,
      last_path: 'frame',
    });
  });

  it('are kept while they cannot be written, and count from when they were heard', async () => {
    const worker = await workerOf('outage');
    await register(worker, manifestOf('outage'));
    const presence = app.nest.get(Presence);
    await presence.flush();
    const before = await row(worker.id);
    await app.database.query('REVOKE INSERT ON worker FROM signalbox_system');
    await tell(worker, 'run_claim');
    await presence.flush();
    await tell(worker, 'keep_alive');
    await presence.flush();
    expect(await row(worker.id)).toEqual(before);
    await app.database.query('GRANT INSERT ON worker TO signalbox_system');
    await eventually(async () => expect((await row(worker.id))?.['last_claim_at']).not.toBeNull());
    const { last_seen_at, last_claim_at } = (await row(worker.id)) as { last_seen_at: Date; last_claim_at: Date };
    expect(last_claim_at.getTime()).toBeLessThan(last_seen_at.getTime());
  });

  it('never go backwards, whichever replica writes last', async () => {
    const worker = await workerOf('ahead');
    await register(worker, manifestOf('ahead'));
    await app.database.query(
      `UPDATE worker SET last_seen_at = now() + interval '1 hour', last_path = 'pong' WHERE id = $1`,
      [worker.id],
    );
    await tell(worker, 'run_claim');
    await app.nest.get(Presence).flush();
    const { last_seen_at, last_path } = (await row(worker.id)) as { last_seen_at: Date; last_path: string };
    expect(last_seen_at.getTime()).toBeGreaterThan(Date.now() + 3_000_000);
    expect(last_path).toBe('pong');
  });

  it('of two agents under one id are written side by side, each to its own', async () => {
    await register(await workerOf('mine', 'both'), manifestOf('mine'));
    const [mine, other] = [await workerOf('mine', 'both'), await workerOf('other', 'both')];
    await Promise.all([tell(other, 'run_claim'), tell(mine, 'keep_alive'), tell(other, 'pong', { nonce: 'x.1' })]);
    await app.nest.get(Presence).flush();
    expect(await row('both')).toMatchObject({ last_claim_at: null, last_pong_at: null });
  });

  it('say how many runs a worker takes to a replica that has not seen it register', async () => {
    const second = await startApp({ database: app.database });
    try {
      const worker = await workerOf('many', 'many-slots');
      await register(worker, manifestOf('many', { max_concurrent: 4 }));
      expect(app.nest.get(Presence).slotsOf(account.accountId, 'many-slots')).toBe(4);
      const presence = second.nest.get(Presence);
      expect(presence.slotsOf(account.accountId, 'many-slots')).toBe(1);
      await tell(new StubWorker(second.url, worker.token, { handle: 'many', workerId: 'many-slots' }), 'keep_alive');
      await presence.flush();
      expect(presence.slotsOf(account.accountId, 'many-slots')).toBe(4);
    } finally {
      await second.stop();
    }
  });
});

describe('what workers ask for and tell beside work', () => {
  const replay = { golden_run_id: 'g', run_id: 'r', tool_name: 't', tool_input: {} };
  const noGrade = { type: 'error', payload: { code: 'grade.not_found', retryable: false } };
  const nothingConnected = { status: 404, type: undefined, payload: { code: 'worker.not_connected' } };

  it.each([
    ['ping', { nonce: 'n-1', sent_at: null }, { type: 'pong', payload: { nonce: 'n-1', sent_at: expect.any(String) } }],
    ['heartbeat', {}, { type: 'worker_state', payload: { status: 'online', last_heartbeat_at: expect.any(String) } }],
    ['secrets_request', {}, { type: 'secrets_bundle', payload: { secrets: {} } }],
    ['config_request', {}, { type: 'config_bundle', payload: { config: { version: '' } } }],
    ['replay_answer_request', replay, { type: 'replay_answer', payload: { source: 'no_data' } }],
    [
      'knowledge_search_request',
      { kb_id: 'k', query: 'q' },
      { type: 'error', payload: { code: 'kb.not_found', retryable: false } },
    ],
    ['grade_context_request', { grade_run_id: 'g' }, noGrade],
    ['pair_grade_context_request', { grade_run_id: 'g' }, noGrade],
    ['aws_credentials_request', {}, nothingConnected],
    ['gcp_token_request', {}, nothingConnected],
    ['github_token_request', {}, nothingConnected],
    ['totally_new', {}, { type: 'error', payload: { code: 'unsupported_type', retryable: false } }],
  ])('K-30: %s is answered over HTTP alone', async (type, asked, expected) => {
    const worker = await workerOf(`asks-${type.replaceAll('_', '-')}`);
    expect(await worker.frame(type, asked)).toMatchObject({ status: 200, ...expected });
  });

  it('worker-protocol §23.1: what wants no reply is 202, whatever it is', async () => {
    const worker = await workerOf('tells');
    for (const type of ['keep_alive', 'totally_new', 'secrets_request']) {
      expect((await tell(worker, type)).status).toBe(202);
    }
  });

  it('is kept on the worker: health, models, configuration, frames that it could not take', async () => {
    const worker = await workerOf('talks');
    await register(worker, manifestOf('talks'));
    await tell(worker, 'health_report', { ok: true, detail: 'Echo is running.' });
    await tell(worker, 'config_ack', { version: 'v1', unsupported_ops: ['new_op'], layer_ids: [] });
    await tell(worker, 'report_models', { base_url: 'https://a.test', models: ['old'] });
    await tell(worker, 'report_models', { base_url: 'https://b.test', models: ['b', { id: 'b-2' }, 7] });
    await tell(worker, 'report_models', { base_url: 'https://a.test', models: ['new'] });
    await tell(worker, 'error', {
      code: 'invalid_payload',
      message: "frame type 'cancel' was not dispatched",
      retryable: false,
    });
    for (let more = 0; more < 25; more += 1) await tell(worker, 'error', { code: `e-${more}` });
    const { json } = await show(worker.id);
    expect(json).toMatchObject({
      health: { ok: true, detail: 'Echo is running.' },
      config: { wanted_version: '', applied_version: 'v1', unsupported_ops: ['new_op'] },
      models: [
        { base_url: 'https://a.test', models: ['new'] },
        { base_url: 'https://b.test', models: ['b', 'b-2'] },
      ],
    });
    expect(json.refused_frames).toHaveLength(20);
    expect(json.refused_frames[0]).toMatchObject({ code: 'e-24', type: 'unknown' });
  });

  it('names the frame that a worker could not take, where the worker does', async () => {
    const worker = await workerOf('refuses');
    await register(worker, manifestOf('refuses'));
    await tell(worker, 'error', {
      code: 'invalid_payload',
      message: "frame type 'cancel' was not dispatched",
      retryable: false,
    });
    expect((await show(worker.id)).json.refused_frames).toMatchObject([{ type: 'cancel', code: 'invalid_payload' }]);
  });
});
