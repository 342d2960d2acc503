import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubEndpoint, answerMessage, type Asked } from '../../support/endpoint.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker, pause } from '../../support/stub-worker.ts';
import { beat, firstManifestOf, workerOf, type Account } from '../workers/wire.ts';

const ENV = {
  SIGNALBOX_OUTBOUND_ALLOW: '127.0.0.1',
  SIGNALBOX_DIRECT_AFTER_SECONDS: '0.3',
  SIGNALBOX_SWEEP_SECONDS: '0.1',
  SIGNALBOX_INVOKE_WAIT_SECONDS: '30',
};
/** Long enough for a run to have been dialled, if it were. */
const QUIET_MS = 1_500;

let app: RunningApp;
let account: Account;
const endpoints: StubEndpoint[] = [];
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});

function serving(windows: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    app = await startApp({ env: { ...ENV, ...windows } });
    account = await app.account();
  });
  afterAll(() => app.stop());
}

async function endpoint(answer = ({ result }: Asked): void => result(answerMessage({ ok: true }))) {
  const started = await StubEndpoint.start(answer);
  endpoints.push(started);
  return started;
}

const call = async (method: 'GET' | 'POST', path: string, body?: object): Promise<Json> =>
  (await app.call(method, `/api/v1${path}`, { key: account.key, ...(body === undefined ? {} : { body }) })).json;
const queue = async (handle: string): Promise<string> =>
  (await call('POST', '/runs', { agent_id: handle, input: {} })).run_id;
const reaches = (runId: string, status: string) =>
  eventually(async () => expect(await call('GET', `/runs/${runId}`)).toMatchObject({ status }), { within: 10_000 });

describe('a worker of SDK 0.1 whose window is shorter than that of others', () => {
  const WINDOW_MS = 1_500;
  const UNREACHABLE_MS = 3_000;
  serving({
    SIGNALBOX_HEARTBEAT_WINDOW_SECONDS: String(WINDOW_MS / 1_000),
    SIGNALBOX_INVOKE_UNREACHABLE_SECONDS: String(UNREACHABLE_MS / 1_000),
  });

  it('is not dialled after its own window, and is again when it was heard', async () => {
    const dialled = await endpoint();
    const worker = await workerOf(app, account, 'silent');
    const said = firstManifestOf('silent', { endpoint_url: dialled.url });
    await beat(app, worker, said);
    await pause(WINDOW_MS + 200);
    const runId = await queue('silent');
    await pause(QUIET_MS);
    expect(await call('GET', `/runs/${runId}`)).toMatchObject({ status: 'queued' });
    expect(dialled.asked).toEqual([]);
    await beat(app, worker, said);
    await reaches(runId, 'succeeded');
    expect(dialled.asked).toHaveLength(1);
  });

  it('keeps an invoked run waiting for its limit from the end of its window on, however long that has waited', async () => {
    const busy = await endpoint(() => {});
    const worker = await workerOf(app, account, 'busy');
    const said = firstManifestOf('busy', { endpoint_url: busy.url });
    await beat(app, worker, said);
    await reaches(await queue('busy'), 'running');
    const invoked = call('POST', '/agents/busy/invoke', { input: {} });
    const until = performance.now() + UNREACHABLE_MS + 500;
    for (; performance.now() < until; await pause(300)) await beat(app, worker, said);
    await beat(app, worker, said);
    const heardAt = performance.now();
    expect(await invoked).toMatchObject({ status: 'failed', error: expect.stringMatching(/^unreachable: /) });
    expect(performance.now() - heardAt).toBeGreaterThan(WINDOW_MS + UNREACHABLE_MS - 300); // a beat may be written later than it was heard
  }, 30_000);
});

describe('a worker of SDK 0.1 whose window is longer than that of others', () => {
  const OTHERS_MS = 600;
  serving({ SIGNALBOX_PRESENCE_WINDOW_SECONDS: String(OTHERS_MS / 1_000) });

  it('is dialled for as long as that is open', async () => {
    const dialled = await endpoint();
    await beat(app, await workerOf(app, account, 'patient'), firstManifestOf('patient', { endpoint_url: dialled.url }));
    await pause(OTHERS_MS + 400);
    await reaches(await queue('patient'), 'succeeded');
    expect(dialled.asked).toHaveLength(1);
  });

  it('keeps its agent from being dialled by its channel for as long as that is open', async () => {
    const dialled = await endpoint();
    const worker = await workerOf(app, account, 'rung');
    await beat(app, worker, firstManifestOf('rung', { endpoint_url: dialled.url }));
    const hanging = new StubWorker(app.url, worker.token, { handle: 'rung' });
    await beat(app, hanging, firstManifestOf('rung', { endpoint_url: null }));
    await hanging.open();
    await pause(OTHERS_MS + 400);
    const runId = await queue('rung');
    await pause(QUIET_MS);
    expect(await call('GET', `/runs/${runId}`)).toMatchObject({ status: 'queued' });
    expect(dialled.asked).toEqual([]);
    hanging.close();
    await reaches(runId, 'succeeded');
    expect(dialled.asked).toHaveLength(1);
  });
});
