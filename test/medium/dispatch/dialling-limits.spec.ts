import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubEndpoint, answerMessage, type Asked } from '../../support/endpoint.ts';
import { eventually } from '../../support/rest.ts';
import { pause, startStub } from '../../support/stub-worker.ts';

const ENV = {
  SIGNALBOX_OUTBOUND_ALLOW: '127.0.0.1',
  SIGNALBOX_DIRECT_AFTER_SECONDS: '0.5',
  SIGNALBOX_DIRECT_AT_ONCE: '8', // a quarter of them are one account's
  SIGNALBOX_SWEEP_SECONDS: '0.1',
  SIGNALBOX_INVOKE_UNREACHABLE_SECONDS: '3',
  SIGNALBOX_INVOKE_WAIT_SECONDS: '30',
};

let app: RunningApp;
const endpoints: StubEndpoint[] = [];
beforeAll(async () => {
  app = await startApp({ env: ENV });
});
afterAll(() => app.stop());
afterEach(async () => {
  for (const endpoint of endpoints.splice(0)) await endpoint.close();
});

async function endpoint(answer: (asked: Asked) => void = () => {}): Promise<StubEndpoint> {
  const started = await StubEndpoint.start(answer);
  endpoints.push(started);
  return started;
}

async function queue(key: string, handle: string): Promise<string> {
  return (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: handle, input: {} } })).json.run_id;
}

describe('how many are dialled at once', () => {
  it('is bounded, and one account’s tarpits leave room for another', async () => {
    const [greedy, modest] = [await app.account(), await app.account()];
    const tarpit = await endpoint();
    const quick = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    await startStub(app, greedy.key, { handle: 'greedy', manifest: { endpoint_url: tarpit.url, max_concurrent: 12 } });
    await startStub(app, modest.key, { handle: 'modest', manifest: { endpoint_url: quick.url } });
    for (let count = 0; count < 6; count += 1) await queue(greedy.key, 'greedy');
    await eventually(() => Promise.resolve(expect(tarpit.of('message/send').length).toBeGreaterThan(0)), {
      within: 10_000,
    });
    await pause(2_000);
    expect(tarpit.of('message/send')).toHaveLength(2);
    const runId = await queue(modest.key, 'modest');
    await eventually(
      async () => {
        const run = (await app.call('GET', `/api/v1/runs/${runId}`, { key: modest.key })).json;
        expect(run.status).toBe('succeeded');
      },
      { within: 10_000 },
    );
    expect(tarpit.of('message/send')).toHaveLength(2);
  });
});

describe('an invoke', () => {
  const invoke = async (key: string, handle: string): Promise<Json> =>
    (await app.call('POST', `/api/v1/agents/${handle}/invoke`, { key, body: { input: {} } })).json;

  it('reaches an agent whose only worker is dialled, also where that takes longer than an agent may be unreachable', async () => {
    const { key } = await app.account();
    const slow = await endpoint((asked) => void setTimeout(() => asked.result(answerMessage({ ok: true })), 4_000));
    await startStub(app, key, { handle: 'slow', manifest: { endpoint_url: slow.url } });
    expect(await invoke(key, 'slow')).toMatchObject({ status: 'succeeded', output: { ok: true } });
  });

  it('of an agent whose only worker refuses the connection fails as unreachable', async () => {
    const { key } = await app.account();
    const gone = await endpoint();
    await gone.close();
    await startStub(app, key, { handle: 'gone', manifest: { endpoint_url: gone.url } });
    expect(await invoke(key, 'gone')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/^unreachable: /),
    });
  });
});
