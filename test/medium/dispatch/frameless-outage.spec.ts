import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let proxy: DatabaseProxy;
let key: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp({
    via: async (url) => {
      const before = await DatabaseProxy.before(url);
      proxy = before.proxy;
      return before.url;
    },
  });
  ({ key } = await app.account());
});
afterAll(async () => {
  await app.stop();
  await proxy.close();
});

/** A worker with a run that it has started. */
async function started(): Promise<{ readonly worker: StubWorker; readonly runId: string }> {
  const worker = await startStub(app, key, { handle: `outage-${(handles += 1)}` });
  const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: worker.handle } });
  await worker.claimSoon();
  await worker.start(json.run_id);
  return { worker, runId: json.run_id };
}
const say = ({ worker, runId }: Awaited<ReturnType<typeof started>>, verb: string, more: object) =>
  app.call('POST', `/api/v1/runs/${runId}/${verb}`, { key: worker.token, body: { worker_id: worker.id, ...more } });

it('23: a success that is reported while the database is away is taken when it is back, within the worker’s wait', async () => {
  const run = await started();
  proxy.cut();
  const since = Date.now();
  const answer = say(run, 'complete', { output: { text: 'patient' } });
  await pause(1_500);
  proxy.mend();
  expect(await answer).toMatchObject({ status: 200, json: { status: 'succeeded', output: { text: 'patient' } } });
  expect(Date.now() - since).toBeLessThan(10_000);
}, 30_000);

it.each(['after', 'before'] as const)(
  '23: a success whose COMMIT is lost %s it arrives is answered as taken, once',
  async (lost) => {
    const run = await started();
    proxy.loseNextCommit(lost);
    expect(await say(run, 'complete', { output: { n: 1 } })).toMatchObject({
      status: 200,
      json: { status: 'succeeded', output: { n: 1 } },
    });
    const late = await app.call('GET', `/api/v1/runs/${run.runId}/late`, { key });
    expect(late.json).toEqual([]);
  },
  30_000,
);

it('a flush while the database is away is kept when it is back, each event once', async () => {
  const run = await started();
  const events = [1, 2, 3].map((n) => ({ run_id: run.runId, event_type: 'log.created', content: `line ${n}` }));
  const params = { worker_id: run.worker.id, events };
  const flush = () =>
    app.call('POST', '/api/v1/hooks/events', {
      key: run.worker.token,
      body: { jsonrpc: '2.0', id: 'f', method: 'hooks/events', params },
    });
  proxy.cut();
  const answer = flush();
  await pause(1_000);
  proxy.mend();
  expect((await answer).json).toMatchObject({ result: { events: 3, refused: [] } });
  proxy.loseNextCommit('after');
  expect((await flush()).json).toMatchObject({ result: { events: 3, refused: [] } });
  const stored = (await app.call('GET', `/api/v1/runs/${run.runId}/events`, { key })).json;
  expect(stored.map(({ content }: { content: string }) => content)).toEqual(['line 1', 'line 2', 'line 3']);
}, 30_000);
