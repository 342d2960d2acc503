import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Channels } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { WorkerProxy } from '../../support/faults/worker-proxy.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker, pause } from '../../support/stub-worker.ts';
import { tell, tokenFor, type Account } from './wire.ts';

const HANDLE = 'half-open';
/** Pings at a tenth. Below ten seconds nothing is called dark: a pong may be that long on its way between replicas. */
const PING_SECONDS = 0.5;
const DARK_WITHIN_MS = 20_000;

let app: RunningApp;
let account: Account;
let proxy: WorkerProxy;
let timer: NodeJS.Timeout;
const served: StubWorker[] = [];

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_CHANNEL_PING_SECONDS: String(PING_SECONDS) } });
  account = await app.account();
  proxy = await WorkerProxy.before(() => [app.url]);
  timer = setInterval(() => served.forEach((worker) => void answerPings(worker)), 100);
});
afterAll(async () => {
  clearInterval(timer);
  served.forEach((worker) => worker.close());
  await proxy.close();
  await app.stop();
});

/** As the SDK does, on the other path. */
async function answerPings(worker: StubWorker): Promise<void> {
  const pings = worker.heard.filter(({ type }) => type === 'ping');
  for (const ping of pings) {
    worker.heard.splice(worker.heard.indexOf(ping), 1);
    await tell(worker, 'pong', { nonce: ping.payload.nonce });
  }
}

async function show({ id }: StubWorker): Promise<Json> {
  return (await app.call('GET', `/api/v1/workers/${id}`, { key: account.key })).json;
}

async function create(): Promise<string> {
  const body = { agent_id: HANDLE, input: {} };
  return (await app.call('POST', '/api/v1/runs', { key: account.key, body })).json.run_id;
}

describe('a channel whose bytes to the worker are lost while its requests pass', () => {
  it('F-26: is dark within 20 s, gets no doorbell, is named in explain, and its worker still claims: one execution', async () => {
    const token = await tokenFor(app, account, HANDLE);
    const half = new StubWorker(proxy.url, token, { handle: HANDLE });
    const whole = new StubWorker(app.url, token, { handle: HANDLE });
    for (const worker of [half, whole]) {
      await worker.register();
      await worker.open();
      served.push(worker);
      await tell(worker, 'run_claim');
      await eventually(async () => expect((await show(worker)).lights.channel.state).toBe('ok'));
    }
    proxy.isHalfOpen = true;
    const cutAt = performance.now();
    await eventually(
      async () => {
        await tell(half, 'run_claim');
        expect((await show(half)).lights.channel.state).toBe('down');
      },
      { within: DARK_WITHIN_MS },
    );
    expect(performance.now() - cutAt).toBeLessThan(DARK_WITHIN_MS);
    expect(await show(half)).toMatchObject({
      ...{ state: 'online', lost: null, assignable: true, excluded_by: 'worker.channel_stale' },
      lights: { process: { state: 'ok' }, channel: { why: expect.stringContaining('pings') }, claim: { state: 'ok' } },
    });
    expect(await show(whole)).toMatchObject({ lights: { channel: { state: 'ok' } }, excluded_by: null });

    const { agent_id: agentId } = await show(half);
    await tell(whole, 'run_claim');
    expect(app.nest.get(Channels).ring(account.accountId, agentId, 5)).toBe(1); // and that is the other one
    await whole.hears('work_available');

    const runId = await create();
    const { json } = await app.call('GET', `/api/v1/runs/${runId}/explain`, { key: account.key });
    expect(json.candidates).toContainEqual(
      expect.objectContaining({
        ...{ worker_id: half.id, eligible: true },
        reason: expect.objectContaining({ code: 'worker.channel_stale' }),
      }),
    );
    const job = await half.claim();
    expect(job.run_id).toBe(runId);
    expect(await whole.claim()).toBeUndefined();
    await half.start(runId);
    await half.complete(runId, { text: 'done' });
    const run = (await app.call('GET', `/api/v1/runs/${runId}`, { key: account.key })).json;
    expect(run).toMatchObject({ status: 'succeeded', attempt: 1, worker_id: half.id });

    proxy.isHalfOpen = false;
    await half.open();
    await eventually(async () => expect((await show(half)).lights.channel.state).toBe('ok'));
    await pause(50);
  }, 60_000);
});
