import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import {
  beat,
  firstManifestOf,
  manifestOf,
  openChannel,
  register,
  workerOf as mint,
  type Account,
  type OpenedChannel,
} from './wire.ts';

const PING_SECONDS = 0.3;
const env = { SIGNALBOX_CHANNEL_PING_SECONDS: String(PING_SECONDS), SIGNALBOX_SWEEP_SECONDS: '0.2' };

let app: RunningApp;
let other: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env });
  other = await startApp({ env, database: app.database });
  account = await app.account();
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
  app.call(method, `/api/v1${path}`, { key: account.key, ...(body === undefined ? {} : { body }) });
const queue = async (handle: string): Promise<string> =>
  (await call('POST', '/runs', { agent_id: handle, input: {} })).json.run_id;

async function beating(handle: string, more: object = {}): Promise<StubWorker> {
  const worker = await mint(app, account, handle);
  await beat(app, worker, firstManifestOf(handle, more));
  return worker;
}

/** Its channel, of which the rows know. */
async function hanging(worker: StubWorker, replica: RunningApp = app): Promise<OpenedChannel> {
  const channel = await openChannel(replica.url, worker);
  await eventually(async () => {
    const [row] = await app.database.query('SELECT FROM worker WHERE id = $1 AND channel_opened_at IS NOT NULL', [
      worker.id,
    ]);
    expect(row).toBeDefined();
  });
  return channel;
}

async function comments(channel: OpenedChannel): Promise<void> {
  const before = channel.text.split(': keep-alive').length;
  await eventually(() => expect(channel.text.split(': keep-alive').length).toBeGreaterThan(before + 1));
}

describe('a channel of the first dialect', () => {
  it('§20.2 trap 23: rings with a bell that names nobody, and carries comments instead of pings', async () => {
    const worker = await beating('belled');
    const channel = await hanging(worker);
    await comments(channel);
    const runId = await queue('belled');
    await eventually(() => expect(channel.events()).not.toEqual([]));
    for (const event of channel.events()) expect(event).toEqual({ event: 'work_available', data: {} });
    expect((await worker.claim()).run_id).toBe(runId);
    await comments(channel);
    expect(channel.text).not.toContain('event: frame');
    expect(channel.text).not.toContain('agent_');
    channel.close();
  });

  it('§20.2 §20.4: says of a cancel which run it is about, and the run is over without a word of the worker', async () => {
    const worker = await beating('halted');
    const channel = await hanging(worker);
    await queue('halted');
    const { run_id: runId } = await worker.claimSoon();
    await worker.start(runId);
    expect((await call('POST', `/runs/${runId}/cancel`, { reason: 'enough' })).json.status).toBe('cancelled');
    await eventually(() => expect(channel.events()).toContainEqual({ event: 'cancel', data: { run_id: runId } }));
    const next = await queue('halted');
    expect((await worker.claimSoon()).run_id).toBe(next);
    expect((await call('GET', `/runs/${runId}`)).json).toMatchObject({ status: 'cancelled', attempt: 1 });
    channel.close();
  });

  it('A2: repeats a cancel and a bell after a reconnect, on whichever replica', async () => {
    const worker = await beating('back');
    await queue('back');
    const { run_id: runId } = await worker.claimSoon();
    await worker.start(runId);
    await call('POST', `/runs/${runId}/cancel`, {});
    await queue('back');
    const channel = await hanging(worker, other);
    await eventually(() => {
      const names = channel.events().map(({ event }) => event);
      expect(names).toEqual(expect.arrayContaining(['work_available', 'cancel']));
    });
    expect(channel.text).not.toContain('event: frame');
    channel.close();
  });

  it('was opened before anybody knew whose it is: from the first heartbeat on, heard elsewhere, it speaks as the worker does', async () => {
    const worker = await mint(app, account, 'unknown-yet');
    const channel = await hanging(worker);
    await eventually(() => expect(channel.of('ping').length).toBeGreaterThan(1));
    await beat(other, worker);
    await eventually(async () => {
      const pings = channel.of('ping').length;
      await comments(channel);
      expect(channel.of('ping').length).toBe(pings);
    });
    const before = channel.of('ping').length;
    await queue('unknown-yet');
    await eventually(() => expect(channel.events()).toContainEqual({ event: 'work_available', data: {} }));
    expect(channel.of('ping').length).toBe(before);
    await register(worker, manifestOf('unknown-yet'));
    await eventually(() => expect(channel.of('ping').length).toBeGreaterThan(before));
    channel.close();
  });

  it('carries nothing of what the dialect has no words for, and who asks for it is told at once', async () => {
    const worker = await beating('deaf');
    const channel = await hanging(worker);
    for (const action of ['drain_restart', 'health_check', 'ping']) {
      const { status, json } = await call('POST', `/workers/${worker.id}/actions`, { action });
      expect([action, status, json.code]).toEqual([action, 409, 'worker.action_unsupported']);
    }
    await worker.frame('config_request'); // as if it held a configuration
    const rules = { action_rules: { rules: [], default_outcome: 'allow' } };
    expect((await call('PUT', '/agents/deaf/worker-config', rules)).status).toBe(200);
    for (const action of ['pause', 'resume']) await call('POST', `/workers/${worker.id}/actions`, { action });
    await comments(channel);
    expect(channel.events().filter(({ event }) => event !== 'work_available')).toEqual([]);
    channel.close();
  });

  it('trap 17: none of its requests is answered with a redirect', async () => {
    const worker = await beating('straight');
    const paths = ['channel/', '/channel', 'heartbeat/', 'runs/claim/'];
    for (const path of paths) {
      const answer = await fetch(`${app.url}/api/v1/workers/${worker.id}/${path}`, {
        redirect: 'manual',
        headers: { authorization: `Bearer ${worker.token}` },
      });
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(answer.headers.get('location')).toBeNull();
      await answer.body?.cancel();
    }
  });

  it('trap 8: one free worker is rung once, however many runs wait for it', async () => {
    const worker = await beating('calm');
    const channel = await hanging(worker);
    const bells = (): Json[] => channel.events().filter(({ event }) => event === 'work_available');
    for (let time = 0; time < 5; time += 1) await queue('calm');
    await eventually(() => expect(bells()).not.toEqual([]));
    await pause(600);
    expect(bells()).toHaveLength(1);
    const { run_id: runId } = await worker.claimSoon();
    await worker.start(runId);
    const rung = bells().length;
    await queue('calm');
    await pause(1_500);
    expect(bells()).toHaveLength(rung); // it is busy, and polls when it is not
    channel.close();
  });
});

describe('a worker of the first dialect is lost', () => {
  let quick: RunningApp;
  beforeAll(async () => {
    quick = await startApp({
      env: {
        ...env,
        SIGNALBOX_CLOSED_OFFER_SECONDS: '0.6',
        SIGNALBOX_CLOSED_LOST_SECONDS: '1.5',
        SIGNALBOX_SWEEP_SECONDS: '0.2',
      },
    });
  });
  afterAll(() => quick.stop());

  async function holding(handle: string, state: 'claimed' | 'running') {
    const owner = await quick.account();
    const worker = await mint(quick, owner, handle);
    await beat(quick, worker);
    const channel = await openChannel(quick.url, worker);
    const { json } = await quick.call('POST', '/api/v1/runs', {
      key: owner.key,
      body: { agent_id: handle, input: {} },
    });
    await worker.claimSoon();
    if (state === 'running') await worker.start(json.run_id);
    const run = async (): Promise<Json> =>
      (await quick.call('GET', `/api/v1/runs/${json.run_id}`, { key: owner.key })).json;
    return { worker, channel, run };
  }

  it('§20.7: when it leaves without a word, and what it had only been given is offered again', async () => {
    const { channel, run } = await holding('drains', 'claimed');
    channel.close();
    await eventually(async () => expect(await run()).toMatchObject({ status: 'queued' }), { within: 4_000 });
  });

  it('A4a: when it hangs up and is not heard again; what it was working on fails', async () => {
    const { channel, run } = await holding('killed', 'running');
    channel.close();
    await eventually(
      async () =>
        expect(await run()).toMatchObject({ status: 'failed', error: expect.stringContaining('worker_lost') }),
      {
        within: 5_000,
      },
    );
  });

  it('not while its heartbeats come, with or without a channel', async () => {
    const { worker, channel, run } = await holding('lives', 'running');
    channel.close();
    for (let time = 0; time < 10; time += 1) {
      await beat(quick, worker);
      await pause(300);
    }
    expect(await run()).toMatchObject({ status: 'running' });
  });
});
