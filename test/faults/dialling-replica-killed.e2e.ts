import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { call, type Json } from '../support/app.ts';
import { StubEndpoint, taskIn, type Asked } from '../support/endpoint.ts';
import { eventually } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { pause, startStub, type StubWorker } from '../support/stub-worker.ts';

const ENV = {
  SIGNALBOX_OUTBOUND_ALLOW: '127.0.0.1',
  SIGNALBOX_DIRECT_AFTER_SECONDS: '1',
  SIGNALBOX_SWEEP_SECONDS: '0.2',
};
/** A replica is dead after five seconds without a sign of life, and hearing begins anew then. */
const ADOPTED_WITHIN_MS = 30_000;

const outcomes: readonly [string, (asked: Asked) => void, Json][] = [
  [
    'whose task has completed succeeds',
    ({ result }) =>
      result({ ...taskIn('completed'), artifacts: [{ parts: [{ kind: 'data', data: { answer: 42 } }] }] }),
    { status: 'succeeded', output: { answer: 42 } },
  ],
  [
    'whose task has failed fails by its word',
    ({ result }) => result(taskIn('failed', 'no credit')),
    { status: 'failed', error: 'no credit' },
  ],
  [
    'of which the worker knows nothing is lost',
    ({ response, id }) =>
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32001, message: 'Task not found' } })),
    { status: 'failed', error: expect.stringMatching(/^delivery_lost: .*error -32001$/) },
  ],
];

describe('a replica that is killed while it dials', () => {
  let first: RunningServer;
  let second: RunningServer | undefined;
  let endpoint: StubEndpoint;
  let stub: StubWorker;
  let answerGet: (asked: Asked) => void;
  let names = 0;

  beforeAll(async () => {
    first = await startServer({ env: ENV });
  }, 90_000);
  afterEach(async () => {
    await endpoint.close();
    await second?.stop();
    second = undefined;
    await first.restart();
  }, 90_000);
  afterAll(() => first.stop());

  it.each(outcomes)(
    'leaves a run that is asked about once: one %s',
    async (_what, answer, expected) => {
      answerGet = answer;
      endpoint = await StubEndpoint.start((asked) => {
        if (asked.method === 'tasks/get') answerGet(asked);
      });
      const handle = `killed-${(names += 1)}`;
      const { key, url } = first;
      const app = {
        url,
        call: (method: Parameters<typeof call>[1], path: string, more = {}) => call(url, method, path, more),
      };
      stub = await startStub(app, key, { handle, manifest: { endpoint_url: endpoint.url } });
      const made = await call(url, 'POST', '/api/v1/runs', { key, body: { agent_id: handle, input: { a: 1 } } });
      const runId: string = made.json.run_id;
      await eventually(() => Promise.resolve(expect(endpoint.of('message/send')).toHaveLength(1)), { within: 15_000 });
      second = await startServer({ database: first.databaseUrl, env: ENV });
      const other = second;
      await first.kill('SIGKILL');
      const run = async (): Promise<Json> => (await call(other.url, 'GET', `/api/v1/runs/${runId}`, { key })).json;
      expect((await run()).status).toBe('running');
      await eventually(async () => expect(await run()).toMatchObject({ ...expected, worker_id: stub.id }), {
        within: ADOPTED_WITHIN_MS,
      });
      await pause(2_000);
      expect(endpoint.asked.map(({ method }) => method)).toEqual(['message/send', 'tasks/get']);
    },
    120_000,
  );
});
