import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { Channels } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker, pause, startStub } from '../../support/stub-worker.ts';
import { manifestOf, register, tell, type Account } from './wire.ts';

const env = { SIGNALBOX_ACTION_SECONDS: '30', SIGNALBOX_CLOSED_LOST_SECONDS: '1.5' };

let app: RunningApp;
let other: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env });
  other = await startApp({ env, database: app.database });
  account = await app.account();
  await pause(1_100); // until both know that they are two
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const stub = (handle: string, manifest: object = {}) =>
  startStub(app, account.key, { handle, manifest: manifest as Readonly<Record<string, unknown>> });

async function act(worker: StubWorker, action: string, more: object = {}, at = app) {
  return at.call('POST', `/api/v1/workers/${worker.id}/actions`, { key: account.key, body: { action, ...more } });
}

async function actions(worker: StubWorker): Promise<Json> {
  return (await app.call('GET', `/api/v1/workers/${worker.id}/actions`, { key: account.key })).json;
}

async function newest(worker: StubWorker): Promise<Json> {
  return (await actions(worker))[0];
}

async function show(worker: StubWorker): Promise<Json> {
  return (await app.call('GET', `/api/v1/workers/${worker.id}`, { key: account.key })).json;
}

/** The worker as it would speak to another replica. */
function elsewhere(worker: StubWorker, at = other): StubWorker {
  return new StubWorker(at.url, worker.token, { handle: worker.handle, workerId: worker.id });
}

/** Opens the worker's channel, and waits until its row says so. */
async function opened(worker: StubWorker): Promise<StubWorker> {
  const nonce = async () =>
    (await app.database.query(`SELECT channel_nonce FROM worker WHERE id = $1`, [worker.id]))[0]?.['channel_nonce'];
  const before = await nonce();
  await worker.open();
  await eventually(async () => expect(await nonce()).not.toBe(before));
  return worker;
}

describe('a mode', () => {
  it.each([
    ['drain', 'draining', 'worker.draining'],
    ['pause', 'paused', 'worker.paused'],
    ['lame_duck', 'lame_duck', 'worker.lame_duck'],
  ])('Q-15: %s needs no channel, is done at once, and shows as %s until resume', async (action, mode, excluded) => {
    const worker = await stub(`mode-${action}`.replace('_', '-'));
    await tell(worker, 'run_claim');
    const { status, json } = await act(worker, action, { reason: 'too hot' });
    expect(status).toBe(200);
    expect(json).toMatchObject({
      action_id: expect.stringMatching(/^act_/),
      ...{ worker_id: worker.id, action, state: 'done', detail: null, acked_at: null, reason: 'too hot' },
      done_at: json.created_at,
      created_by: expect.stringMatching(/^prn_/),
    });
    expect(await show(worker)).toMatchObject({ mode, assignable: false, excluded_by: excluded });
    const [row] = await app.database.query(`SELECT mode_since, mode_by, mode_reason FROM worker WHERE id = $1`, [
      worker.id,
    ]);
    expect(row).toEqual({ mode_since: expect.any(Date), mode_by: json.created_by, mode_reason: 'too hot' });
    expect((await act(worker, 'resume')).json).toMatchObject({ state: 'done', reason: null });
    expect(await show(worker)).toMatchObject({ mode: 'normal', assignable: true });
    expect((await actions(worker)).map((one: Json) => one.action)).toEqual(['resume', action]);
  });

  it('Q-15: a worker that is paused or drains is not rung, on whichever replica it hangs; resume rings for what waits', async () => {
    const worker = await opened(await stub('spared'));
    for (const [action, at] of [
      ['pause', app],
      ['drain', other],
    ] as const) {
      await act(worker, action, {}, at);
      await eventually(() => expect(app.nest.get(Channels).at(account.accountId, worker.id)?.mode).not.toBe('normal'));
      await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'spared', input: {} } });
      await pause(300);
      expect(worker.heard.filter(({ type }) => type === 'work_available')).toEqual([]);
      await act(worker, 'resume', {}, at);
      await worker.hears('work_available');
      await worker.serve();
    }
    worker.close();
  });

  it('Q-15: a lame duck is rung only where nobody else can be', async () => {
    const duck = await opened(await stub('ducks'));
    await act(duck, 'lame_duck');
    const colleague = new StubWorker(app.url, duck.token, { handle: 'ducks' });
    await colleague.register();
    await opened(colleague);
    const ring = (atMost: number) =>
      app.nest
        .get(Channels)
        .ring(account.accountId, app.nest.get(Channels).at(account.accountId, duck.id)?.agentId ?? '', atMost);
    expect(ring(1)).toBe(1);
    await colleague.hears('work_available');
    expect(ring(1)).toBe(1); // the colleague was just rung, and has not asked yet
    await duck.hears('work_available');
    duck.close();
    colleague.close();
  });

  it('a mode outlives a reconnect, and a registration ends it', async () => {
    const worker = await opened(await stub('kept'));
    await act(worker, 'pause');
    await opened(worker);
    expect(app.nest.get(Channels).at(account.accountId, worker.id)?.mode).toBe('paused');
    await register(elsewhere(worker), manifestOf('kept'));
    await eventually(() => expect(app.nest.get(Channels).at(account.accountId, worker.id)?.mode).toBe('normal'));
    expect(await show(worker)).toMatchObject({ mode: 'normal' });
    worker.close();
  });
});

describe('what a worker is told', () => {
  it('arrives on whichever replica holds the channel, and its acknowledgement by whichever hears it', async () => {
    const worker = await opened(await stub('told'));
    const { json } = await act(worker, 'drain_restart', { params: { grace: 5 }, reason: 'new image' }, other);
    expect(json).toMatchObject({ state: 'sent', acked_at: null, done_at: null });
    const { payload } = await worker.hears('worker_action', 1_000);
    expect(payload).toEqual({ action_id: json.action_id, action: 'drain_restart', params: { grace: 5 } });
    const answer = { action_id: json.action_id, accepted: true, detail: 'after this run' };
    expect(await tell(elsewhere(worker), 'worker_action_ack', answer)).toMatchObject({ status: 202 });
    expect(await newest(worker)).toMatchObject({
      state: 'acknowledged',
      detail: 'after this run',
      acked_at: expect.any(String),
      done_at: null,
    });
    expect(await show(worker)).toMatchObject({ mode: 'draining', excluded_by: 'worker.draining' });
    await register(elsewhere(worker), manifestOf('told'));
    expect(await newest(worker)).toMatchObject({ state: 'done', detail: 'it has registered again' });
    expect(await show(worker)).toMatchObject({ mode: 'normal' });
    worker.close();
  });

  it('is done too when the worker goes and does not come back', async () => {
    const worker = await opened(await stub('leaver'));
    const { json } = await act(worker, 'drain_restart');
    await worker.hears('worker_action');
    await tell(worker, 'worker_action_ack', { action_id: json.action_id, accepted: true });
    await app.nest.get(Sweeper).now('workers.actions');
    expect(await newest(worker)).toMatchObject({ state: 'acknowledged' });
    worker.close();
    await eventually(
      async () => expect(await newest(worker)).toMatchObject({ state: 'done', detail: 'its process has left' }),
      {
        within: 8_000,
      },
    );
  });

  it('is repeated after a reconnect to another replica, and never twice on one channel', async () => {
    const worker = await opened(await stub('moving'));
    const { json } = await act(worker, 'drain_restart');
    await worker.hears('worker_action');
    await app.nest.get(Sweeper).now('workers.actions');
    await pause(100);
    expect(worker.heard.filter(({ type }) => type === 'worker_action')).toEqual([]);
    const moved = await opened(elsewhere(worker));
    expect((await moved.hears('worker_action', 2_000)).payload.action_id).toBe(json.action_id);
    await tell(moved, 'worker_action_ack', { action_id: json.action_id, accepted: true });
    await opened(moved);
    await pause(300);
    expect(moved.heard.filter(({ type }) => type === 'worker_action')).toEqual([]);
    moved.close();
    worker.close();
  });

  it('arrives by the sweep when the poke was lost', async () => {
    const worker = await opened(await stub('unpoked'));
    await app.database.query(
      `INSERT INTO worker_action (account_id, id, worker_id, agent_id, action, created_by)
       SELECT account_id, 'act_unpoked', id, agent_id, 'health_check', 'prn_x' FROM worker WHERE id = $1`,
      [worker.id],
    );
    expect(await worker.hears('health_check', 8_000)).toMatchObject({ id: 'act_unpoked', needsReply: true });
    worker.close();
  });

  it('has expired once the time is over, and is not sent any more', async () => {
    const worker = await opened(await stub('expiring'));
    await act(worker, 'health_check');
    await worker.hears('health_check');
    await app.database.query(`UPDATE worker_action SET created_at = now() - interval '31 s' WHERE worker_id = $1`, [
      worker.id,
    ]);
    await app.nest.get(Sweeper).now('workers.actions');
    expect(await newest(worker)).toMatchObject({ state: 'expired', acked_at: null, done_at: expect.any(String) });
    await tell(worker, 'health_report', { ok: true, detail: 'late' });
    expect(await newest(worker)).toMatchObject({ state: 'expired' });
    await opened(worker);
    await pause(200);
    expect(worker.heard.filter(({ type }) => type === 'health_check')).toEqual([]);
    worker.close();
  });

  it('may be declined, in words or by a worker that does not know the frame', async () => {
    const worker = await opened(await stub('declining'));
    const first = (await act(worker, 'drain_restart')).json.action_id;
    await tell(worker, 'worker_action_ack', { action_id: first, accepted: false, detail: 'not now' });
    expect(await newest(worker)).toMatchObject({ state: 'declined', detail: 'not now', done_at: expect.any(String) });
    expect(await show(worker)).toMatchObject({ mode: 'normal' });
    const second = (await act(worker, 'drain_restart')).json.action_id;
    await worker.frame(
      'error',
      { code: 'unsupported_type', message: "frame type 'worker_action'" },
      { correlationId: second },
    );
    expect(await newest(worker)).toMatchObject({
      state: 'declined',
      detail: "unsupported_type: frame type 'worker_action'",
    });
    worker.close();
  });

  it('is not closed by another worker, nor by another account', async () => {
    const worker = await opened(await stub('guarded'));
    const { action_id } = (await act(worker, 'drain_restart')).json;
    const stranger = await stub('stranger');
    await tell(stranger, 'worker_action_ack', { action_id, accepted: true });
    const thief = new StubWorker(app.url, stranger.token, { handle: 'stranger', workerId: worker.id });
    await tell(thief, 'worker_action_ack', { action_id, accepted: true });
    await tell(thief, 'pong', { nonce: `${action_id}.1` });
    expect(await newest(worker)).toMatchObject({ state: 'sent' });
    worker.close();
  });
});

describe('a question', () => {
  it('about health is done with the answer', async () => {
    const worker = await opened(await stub('healthy'));
    for (const [report, detail] of [
      [{ ok: true, detail: 'echo is running.' }, 'echo is running.'],
      [{ ok: false, detail: 'no model' }, 'not well: no model'],
      [{ ok: false }, 'not well: it does not say why'],
    ] as const) {
      const { json } = await act(worker, 'health_check');
      const frame = await worker.hears('health_check', 1_000);
      expect(frame).toEqual({ id: json.action_id, type: 'health_check', payload: {}, needsReply: true });
      await worker.frame('health_report', report, { correlationId: frame.id });
      expect(await newest(worker)).toMatchObject({ state: 'done', detail, acked_at: expect.any(String) });
    }
    expect(await show(worker)).toMatchObject({ health: { ok: false, detail: null } });
    worker.close();
  });

  it('of one ping is done with the round trip, by the pong of its nonce only', async () => {
    const worker = await opened(await stub('pinged'));
    const { json } = await act(worker, 'ping', {}, other);
    let nonce = '';
    await eventually(() => {
      const ping = worker.heard.find(({ payload }) => String(payload.nonce).startsWith(json.action_id));
      expect(ping).toBeDefined();
      nonce = ping.payload.nonce;
    });
    await tell(worker, 'pong', { nonce: nonce.replace(/^act_\w+/, 'act_another') });
    await tell(worker, 'pong', { nonce: 'rep_x.1' });
    expect(await newest(worker)).toMatchObject({ state: 'sent' });
    await tell(elsewhere(worker), 'pong', { nonce });
    expect(await newest(worker)).toMatchObject({
      state: 'done',
      detail: expect.stringMatching(/^answered after \d+(\.\d)? ms$/),
    });
    worker.close();
  });
});

describe('the request', () => {
  it('is refused where nothing can carry it, or nobody would understand it', async () => {
    const worker = await stub('alone');
    for (const action of ['drain_restart', 'health_check', 'ping']) {
      expect(await act(worker, action)).toMatchObject({ status: 409, json: { code: 'worker.no_channel' } });
    }
    const old = await opened(await stub('old', { sdk_version: 'v1+0123456789ab' }));
    expect(await act(old, 'drain_restart')).toMatchObject({ status: 409, json: { code: 'worker.action_unsupported' } });
    expect((await act(old, 'health_check')).status).toBe(200);
    old.close();
    await eventually(async () => expect((await act(old, 'health_check')).json.code).toBe('worker.no_channel'));
    expect(await actions(worker)).toEqual([]);
  });

  it('K-66: is nobody’s but an operator’s: not a viewer’s, not the worker’s own', async () => {
    const worker = await stub('own');
    const body = { action: 'pause' };
    const ask = (key: string) => app.call('POST', `/api/v1/workers/${worker.id}/actions`, { key, body });
    expect(await ask(worker.token)).toMatchObject({ status: 403 });
    const viewer = await app.call('POST', '/api/v1/api-keys', {
      key: account.key,
      body: { name: 'viewer', role_ids: ['role_viewer'] },
    });
    expect(await ask(viewer.json.key)).toMatchObject({ status: 403, json: { code: 'access.denied' } });
    expect(await show(worker)).toMatchObject({ mode: 'normal' });
  });

  it('for a foreign account’s worker reads exactly like one for none', async () => {
    const worker = await stub('foreign');
    const stranger = await app.account();
    const ask = async (id: string, method: 'GET' | 'POST') => {
      const body = method === 'POST' ? { body: { action: 'pause' } } : {};
      const { status, json } = await app.call(method, `/api/v1/workers/${id}/actions`, { key: stranger.key, ...body });
      return { status, ...json, request_id: '' };
    };
    for (const method of ['GET', 'POST'] as const) {
      expect(await ask(worker.id, method)).toMatchObject({ status: 404, code: 'worker.not_found' });
      expect(await ask(worker.id, method)).toEqual(await ask('wrk_unknown', method));
    }
    expect(await show(worker)).toMatchObject({ mode: 'normal' });
  });

  it('stands in the register with who asked, for what, and why', async () => {
    const worker = await stub('audited');
    const { json } = await act(worker, 'pause', { reason: 'noisy' });
    await act(worker, 'ping');
    const rows = await app.database.query(
      `SELECT outcome, detail FROM audit_entry WHERE action = 'worker.action' AND target_id = $1 ORDER BY at`,
      [worker.id],
    );
    expect(rows).toMatchObject([
      { outcome: 'done', detail: { action: 'pause', action_id: json.action_id, reason: 'noisy' } },
      { outcome: 'failed', detail: { code: 'worker.no_channel' } },
    ]);
  });

  it('F-25: its list pages through actions of one moment, each exactly once', async () => {
    const worker = await stub('listed');
    for (let index = 0; index < 7; index += 1) await act(worker, index % 2 ? 'resume' : 'pause');
    await app.database.query(`UPDATE worker_action SET created_at = '2026-01-01Z' WHERE worker_id = $1`, [worker.id]);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await app.call('GET', `/api/v1/workers/${worker.id}/actions?limit=3${cursor}`, { key: account.key });
      seen.push(...page.json.map((one: Json) => one.action_id));
      const next = page.headers.get('x-next-cursor');
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(seen).toHaveLength(7);
    expect(seen).toEqual([...new Set(seen)].sort().reverse());
  });
});
