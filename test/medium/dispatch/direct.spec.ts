import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubEndpoint, answerMessage, taskIn, type Asked } from '../../support/endpoint.ts';
import { eventually } from '../../support/rest.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

const ENV = {
  SIGNALBOX_OUTBOUND_ALLOW: '127.0.0.1',
  SIGNALBOX_DIRECT_AFTER_SECONDS: '1',
  SIGNALBOX_SWEEP_SECONDS: '0.1',
};
/** Long enough for a run to have been dialled, if it were. */
const QUIET_MS = 2_500;

let app: RunningApp;
let key: string;
let accountId: string;
let names = 0;
const endpoints: StubEndpoint[] = [];
beforeAll(async () => {
  app = await startApp({ env: ENV });
  ({ key, accountId } = await app.account());
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

/** A worker that gives an address and never asks for work. */
function worker(url: string, more: Json = {}): Promise<StubWorker> {
  const handle = `direct-${(names += 1)}`;
  return startStub(app, key, { handle, ...more, manifest: { endpoint_url: url, ...more.manifest } });
}

async function queue(handle: string, input: object = { prompt: 'hi' }): Promise<string> {
  const { json, text } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: handle, input } });
  if (!json?.run_id) throw new Error(text);
  return json.run_id;
}

async function run(runId: string): Promise<Json> {
  return (await app.call('GET', `/api/v1/runs/${runId}`, { key })).json;
}

async function explain(runId: string): Promise<Json> {
  return (await app.call('GET', `/api/v1/runs/${runId}/explain`, { key })).json;
}

function reaches(runId: string, status: string): Promise<Json> {
  return eventually(
    async () => {
      const found = await run(runId);
      if (found.status !== status) throw new Error(`${found.status} ${found.error}`);
      return found;
    },
    { within: 10_000 },
  );
}

describe('a worker that is not asking, and has no channel', () => {
  it('D-1: is dialled with what a claim would have brought, and its answer ends the run', async () => {
    const usage = { input_tokens: 3, output_tokens: 4, cost_amount: 0.5, cost_source: 'reported', currency: 'USD' };
    const dialled = await endpoint((asked) => asked.result(answerMessage({ text: 'hello', n: 1 }, { usage })));
    const stub = await worker(dialled.url);
    const runId = await queue(stub.handle, { prompt: 'hi', nested: { a: [1, null] } });
    const ended = await reaches(runId, 'succeeded');
    expect(ended).toMatchObject({ output: { text: 'hello', n: 1 }, worker_id: stub.id, usage });
    expect(dialled.asked).toHaveLength(1);
    const [{ method, params }] = dialled.asked as [Asked];
    expect(method).toBe('message/send');
    expect(params.message).toMatchObject({
      kind: 'message',
      role: 'user',
      taskId: runId,
      contextId: runId,
      parts: [{ kind: 'data', data: { prompt: 'hi', nested: { a: [1, null] } } }],
      metadata: {
        run_id: runId,
        attempt: 1,
        thread_id: runId,
        _agentops_secrets: { AGENTOPS_MCP_TOKEN: expect.any(String) },
      },
    });
    const attempts = (await app.call('GET', `/api/v1/runs/${runId}/attempts`, { key })).json;
    expect(attempts).toMatchObject([{ attempt: 1, worker_id: stub.id, path: 'direct', end: 'end.succeeded' }]);
    expect((await explain(runId)).reason.code).toBe('end.succeeded');
  });

  it('is dialled only after the run has waited', async () => {
    const dialled = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    const stub = await worker(dialled.url);
    const begun = performance.now();
    await reaches(await queue(stub.handle), 'succeeded');
    expect(performance.now() - begun).toBeGreaterThan(950);
  });

  it.each<[string, object, object]>([
    ['a failed task', taskIn('failed', 'no credit'), { status: 'failed', error: 'no credit' }],
    [
      'a failed task without a text',
      taskIn('failed'),
      { status: 'failed', error: expect.stringContaining('without a text') },
    ],
    ['a rejected task', taskIn('rejected', 'not me'), { status: 'failed', error: 'not me' }],
    ['a task that goes on', taskIn('working'), { status: 'failed', error: 'delivery_lost: its task goes on' }],
    [
      'a completed task with artifacts',
      {
        ...taskIn('completed'),
        artifacts: [
          { parts: [{ kind: 'data', data: { a: 1 } }] },
          {
            parts: [
              { kind: 'text', text: 'x' },
              { kind: 'data', data: { b: 2 } },
            ],
          },
        ],
      },
      { status: 'succeeded', output: { a: 1, b: 2, text: 'x' } },
    ],
    [
      'a message of text only',
      { kind: 'message', parts: [{ kind: 'text', text: 'plain' }] },
      { status: 'succeeded', output: { text: 'plain' } },
    ],
  ])('ends its run by %s', async (_what, result, expected) => {
    const dialled = await endpoint((asked) => asked.result(result));
    const stub = await worker(dialled.url);
    const runId = await queue(stub.handle);
    await eventually(async () => expect(await run(runId)).toMatchObject(expected), { within: 10_000 });
    expect(dialled.of('message/send')).toHaveLength(1);
  });

  it('has its values masked in what it answers', async () => {
    const value = 'sk-live-0123456789abcdef';
    const dialled = await endpoint(({ params, result }) => {
      result(answerMessage({ leaked: params.message.metadata._agentops_secrets.OPENAI_KEY, text: `it is ${value}` }));
    });
    const stub = await worker(dialled.url);
    const made = await app.call('POST', '/api/v1/credentials', { key, body: { name: 'OPENAI_KEY', value } });
    expect(made.status).toBe(201);
    const bindings = `/api/v1/credentials/${made.json.id}/bindings`;
    expect((await app.call('POST', bindings, { key, body: { agent_id: stub.handle } })).status).toBe(201);
    const ended = await reaches(await queue(stub.handle), 'succeeded');
    expect(JSON.stringify(ended)).not.toContain(value);
    expect(ended.output.leaked).toEqual(expect.any(String)); // it was there, and stands masked
  });
});

describe('K-24, U-12: one path', () => {
  it('the endpoint hears nothing while a channel of the agent lives', async () => {
    const dialled = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    const stub = await worker(dialled.url);
    await stub.open();
    await pause(300);
    const runId = await queue(stub.handle);
    await pause(QUIET_MS);
    expect((await run(runId)).status).toBe('queued');
    expect(dialled.asked).toEqual([]);
    await stub.serve();
    expect((await run(runId)).status).toBe('succeeded');
    stub.close();
    await pause(QUIET_MS);
    expect(dialled.asked).toEqual([]);
  });

  it('hears nothing of a run that it claimed, when its channel is cut in the middle', async () => {
    const dialled = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    const stub = await worker(dialled.url);
    await stub.open();
    const runId = await queue(stub.handle);
    const job = await stub.claimSoon();
    await stub.start(job.run_id);
    stub.close();
    await pause(QUIET_MS);
    expect(dialled.asked).toEqual([]);
    await stub.complete(runId, { done: true });
    expect((await run(runId)).status).toBe('succeeded');
  });

  it('a worker that asks for work while it is dialled neither loses that run nor gets another', async () => {
    const dialled = await endpoint();
    const stub = await worker(dialled.url);
    const runId = await queue(stub.handle);
    await eventually(() => Promise.resolve(expect(dialled.asked).toHaveLength(1)), { within: 10_000 });
    const second = await queue(stub.handle);
    expect(await stub.claim()).toBeUndefined();
    await stub.open();
    await pause(QUIET_MS);
    expect(await run(runId)).toMatchObject({ status: 'running', worker_id: stub.id });
    expect((await run(second)).status).toBe('queued');
    dialled.asked[0]?.result(answerMessage({ ok: true }));
    await reaches(runId, 'succeeded');
    expect((await stub.claimSoon()).run_id).toBe(second);
    stub.close();
    expect(dialled.of('message/send')).toHaveLength(1);
  });
});

describe('an endpoint that refuses the connection', () => {
  it('was not given the run: it waits on, says when it is tried again, and is answered when somebody is there', async () => {
    const dialled = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    const stub = await worker(dialled.url);
    await dialled.close();
    const runId = await queue(stub.handle);
    const waiting = await eventually(
      async () => {
        const explained = await explain(runId);
        expect(explained.reason.code).toBe('direct.retrying');
        return explained;
      },
      { within: 10_000 },
    );
    expect(waiting.status).toBe('queued');
    expect(Date.parse(waiting.reason.detail.at)).toBeGreaterThanOrEqual(Date.parse(waiting.as_of));
    expect(waiting.reason.until_changed_by.map(({ kind }: Json) => kind)).toEqual(['time', 'worker_appears']);
    const detail = (await app.call('GET', `/api/v1/workers/${stub.id}`, { key })).json;
    expect(detail.direct).toMatchObject({
      last_result: 'unsent: the connection was refused',
      last_at: expect.any(String),
    });
    await dialled.listen();
    await reaches(runId, 'succeeded');
    expect(dialled.asked).toHaveLength(1);
  });

  it('does not use up offers, and another worker may take the run meanwhile', async () => {
    const dialled = await endpoint();
    await dialled.close();
    const stub = await worker(dialled.url);
    const runId = await queue(stub.handle);
    await eventually(async () => expect((await explain(runId)).reason.code).toBe('direct.retrying'), {
      within: 10_000,
    });
    const other = await startStub(app, key, { handle: stub.handle, token: stub.token });
    const job = await other.claimSoon();
    expect(job.run_id).toBe(runId);
    await other.start(runId);
    await other.complete(runId, { by: 'claim' });
    expect(await run(runId)).toMatchObject({ status: 'succeeded', worker_id: other.id });
    const attempts = (await app.call('GET', `/api/v1/runs/${runId}/attempts`, { key })).json;
    expect(attempts.map(({ path, end }: Json) => [path, end])).toEqual([
      ...Array(attempts.length - 1).fill(['direct', 'direct.retrying']),
      ['claim', 'end.succeeded'],
    ]);
  });
});

describe('what is hostile', () => {
  it.each<[string, (asked: Asked) => void, RegExp]>([
    ['hangs up', ({ response }) => response.socket?.destroy(), /^delivery_lost: /],
    [
      'redirects to the metadata address',
      ({ response }) => response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
      /HTTP 302/,
    ],
    ['answers 500', ({ response }) => response.writeHead(500).end('no'), /HTTP 500/],
    ['answers garbage', ({ response }) => response.end('\0\x01<html>'), /no JSON object/],
    ['answers a list', ({ response }) => response.end('[]'), /no JSON object/],
    ['answers half of its JSON', ({ response }) => response.end('{"jsonrpc":"2.0","result":{'), /no JSON object/],
    ['answers no result', ({ response }) => response.end('{}'), /no result/],
    [
      'answers 17 MiB',
      ({ response }) => response.end(`{"result":{"parts":[{"text":"${'x'.repeat(17 * 1024 * 1024)}"}]}}`),
      /larger than 16777216 bytes/,
    ],
  ])('an endpoint that %s has the run, and loses it: it is not sent again', async (_what, answer, error) => {
    const dialled = await endpoint(answer);
    const stub = await worker(dialled.url);
    const policy = { retry: { on: ['failed', 'worker_lost'], max_attempts: 3, backoff_seconds: 0 } };
    await app.call('PUT', `/api/v1/agents/${stub.handle}/policy`, { key, body: policy });
    const runId = await queue(stub.handle);
    const ended = await reaches(runId, 'failed');
    expect(ended.error).toMatch(error);
    expect((await explain(runId)).reason).toMatchObject({ code: 'end.delivery_lost' });
    await pause(1_500);
    expect(dialled.of('message/send')).toHaveLength(1);
  });

  it('an answer that is nested for ever, or says __proto__, does no harm', async () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
    const dialled = await endpoint(({ response }) =>
      response.end(
        `{"result":{"kind":"message","parts":[{"kind":"data","data":{"deep":${deep},"__proto__":{"x":1},"constructor":1}}]}}`,
      ),
    );
    const stub = await worker(dialled.url);
    const ended = await reaches(await queue(stub.handle), 'succeeded');
    expect(Object.keys(ended.output).sort()).toEqual(['__proto__', 'constructor', 'deep']);
    expect(({} as Json).x).toBeUndefined();
  });
});

describe('a run that is out by dialling', () => {
  it('is cancelled: the endpoint is told once, and its late answer changes nothing', async () => {
    const dialled = await endpoint((asked) => {
      if (asked.method === 'tasks/cancel') asked.result(taskIn('canceled'));
    });
    const stub = await worker(dialled.url);
    const runId = await queue(stub.handle);
    await eventually(() => Promise.resolve(expect(dialled.of('message/send')).toHaveLength(1)), { within: 10_000 });
    await app.call('POST', `/api/v1/runs/${runId}/cancel`, { key, body: { reason: 'enough' } });
    await eventually(() => Promise.resolve(expect(dialled.of('tasks/cancel')).toHaveLength(1)), { within: 5_000 });
    expect(dialled.of('tasks/cancel')[0]?.params).toEqual({ id: runId });
    await eventually(async () => expect((await explain(runId)).reason.code).toBe('end.cancelled'), { within: 5_000 });
    dialled.of('message/send')[0]?.result(answerMessage({ too: 'late' }));
    await pause(500);
    expect(await run(runId)).toMatchObject({ status: 'cancelled' });
    expect(dialled.asked).toHaveLength(2);
  });

  it('ends at its limit, and the endpoint is told', async () => {
    const dialled = await endpoint();
    const stub = await worker(dialled.url);
    await app.call('PUT', `/api/v1/agents/${stub.handle}/policy`, { key, body: { run_limit_seconds: 1 } });
    const runId = await queue(stub.handle);
    const ended = await reaches(runId, 'failed');
    expect(ended.error).toMatch(/^run_limit: /);
    await eventually(() => Promise.resolve(expect(dialled.of('tasks/cancel')).toHaveLength(1)), { within: 5_000 });
  });

  it('holds no connection of the database, however many there are', async () => {
    const dialled = await endpoint();
    const stub = await worker(dialled.url, { manifest: { max_concurrent: 16 } });
    const runs = await Promise.all(Array.from({ length: 12 }, () => queue(stub.handle)));
    await eventually(() => Promise.resolve(expect(dialled.of('message/send').length).toBeGreaterThanOrEqual(1)), {
      within: 10_000,
    });
    const busy = await app.database.query(
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND state LIKE 'idle in transaction%'`,
    );
    expect(busy).toEqual([{ count: 0 }]);
    for (const runId of runs) await app.call('POST', `/api/v1/runs/${runId}/cancel`, { key, body: {} });
  });
});

describe('U-40: an address that may not be called', () => {
  it.each([
    'http://10.0.0.1:8010',
    'https://169.254.169.254',
    'https://[::1]:8010',
    'https://2130706434',
    'https://0x7f000002',
    'https://***@example.com/', // a password does not come this far
    'file:///etc/passwd',
    'no address at all',
  ])('%s is never dialled; its worker is taken in, and shown with the reason', async (url) => {
    const stub = await worker(url);
    const runId = await queue(stub.handle);
    const detail = (await app.call('GET', `/api/v1/workers/${stub.id}`, { key })).json;
    expect(detail).toMatchObject({
      state: 'online',
      endpoint_url: url,
      assignable: false,
      excluded_by: 'worker.not_claiming',
    });
    expect(detail.delivery).not.toContain('direct');
    expect(detail.direct.last_result).toMatch(/^excluded: /);
    const { candidates, reason } = await explain(runId);
    expect(reason.code).toBe('agent.no_eligible_worker');
    expect(candidates[0].reason.detail.direct).toBe(detail.direct.last_result);
    await pause(1_500);
    expect((await run(runId)).status).toBe('queued');
  });
});

describe('a worker that can be dialled', () => {
  it('counts as reachable, and is shown as such', async () => {
    const dialled = await endpoint((asked) => asked.result(answerMessage({ ok: true })));
    const stub = await worker(dialled.url);
    expect((await app.call('GET', `/api/v1/workers/${stub.id}`, { key })).json).toMatchObject({
      delivery: ['claim', 'direct'],
      assignable: true,
      excluded_by: null,
      direct: { last_result: null, last_at: null },
    });
    const runId = await queue(stub.handle);
    expect((await explain(runId)).reason.code).toBe('handing_out');
    await reaches(runId, 'succeeded');
    expect((await app.call('GET', `/api/v1/workers/${stub.id}`, { key })).json.direct.last_result).toBe('answered');
    expect(accountId).toBeDefined();
  });
});
