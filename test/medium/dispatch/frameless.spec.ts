import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;
let otherKey: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_SWEEP_SECONDS: '0.2' } });
  ({ key } = await app.account());
  ({ key: otherKey } = await app.account());
});
afterAll(() => app.stop());

/** A worker of SDK 0.1, which says no protocol version and names its own build. */
const frameless = (handle = `plain-${(handles += 1)}`, token?: string): Promise<StubWorker> =>
  startStub(app, key, {
    handle,
    manifest: { wire_protocol_version: null, sdk_version: '1.0.0' },
    ...(token === undefined ? {} : { token }),
  });
const queue = async (handle: string, input: object = { prompt: 'hi' }): Promise<string> =>
  (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: handle, input } })).json.run_id;
const get = async (runId: string): Promise<Json> => (await app.call('GET', `/api/v1/runs/${runId}`, { key })).json;
const post = (worker: StubWorker, path: string, body: unknown) =>
  app.call('POST', `/api/v1/${path}`, { key: worker.token, body });
const claim = async (worker: StubWorker): Promise<Json> =>
  (await post(worker, `workers/${worker.id}/runs/claim`, { agent_id: worker.handle })).json.job;
const say = (worker: StubWorker, runId: string, verb: 'start' | 'complete' | 'fail', more: object = {}) =>
  post(worker, `runs/${runId}/${verb}`, { worker_id: worker.id, ...more });
const started = async (worker: StubWorker): Promise<string> => {
  const runId = await queue(worker.handle);
  await claim(worker);
  await say(worker, runId, 'start');
  return runId;
};
const lateOf = async (runId: string): Promise<Json[]> =>
  (await app.call('GET', `/api/v1/runs/${runId}/late`, { key })).json;
const auditOf = (runId: string) =>
  app.database.query(
    `SELECT detail->>'why' AS why FROM audit_entry WHERE target_id = $1 AND action = 'run.stale_report'`,
    [runId],
  );

describe('a claim by REST', () => {
  it('hands out a job of exactly what SDK 0.1 reads, and null when there is nothing', async () => {
    const worker = await frameless();
    expect(await post(worker, `workers/${worker.id}/runs/claim`, { agent_id: 'whatever' })).toMatchObject({
      status: 200,
      json: { job: null },
    });
    const runId = await queue(worker.handle, { n: 1 });
    const job = await claim(worker);
    expect(job).toEqual({
      run_id: runId,
      agent_id: expect.any(String),
      event_id: expect.any(String),
      input: { n: 1 },
      secrets: { AGENTOPS_MCP_TOKEN: expect.any(String) },
      snapshot: null,
    });
    expect(await get(runId)).toMatchObject({ status: 'claimed', worker_id: worker.id, attempt: 1 });
  });

  it('20: hands out texts only, though the worker names a version that would take maps', async () => {
    const worker = await frameless();
    const body = { name: 'db-creds', value: JSON.stringify({ user: 'u-secret', password: 'p-secret' }) };
    const credential = await app.call('POST', '/api/v1/credentials', { key, body });
    const agents = await app.call('POST', `/api/v1/credentials/${credential.json.id}/bindings`, {
      key,
      body: { agent_id: worker.handle },
    });
    expect([credential.status, agents.status].every((status) => status < 300)).toBe(true);
    await queue(worker.handle);
    const { secrets } = await claim(worker);
    expect(secrets).toMatchObject({ DB_CREDS__USER: 'u-secret', DB_CREDS__PASSWORD: 'p-secret' });
    expect(Object.values(secrets).every((value) => typeof value === 'string')).toBe(true);
  });

  it('is 404 for a worker that never registered, and takes nothing', async () => {
    const worker = await frameless();
    const runId = await queue(worker.handle);
    expect(await post(worker, 'workers/wrk_stranger/runs/claim', { agent_id: worker.handle })).toMatchObject({
      status: 404,
      json: { code: 'worker.not_registered' },
    });
    expect(await get(runId)).toMatchObject({ status: 'queued' });
  });

  it('3: gives back a run whose job was lost on the way: the worker asks again without having started it', async () => {
    const worker = await frameless();
    const runId = await queue(worker.handle);
    await claim(worker);
    expect(await claim(worker)).toMatchObject({ run_id: runId });
    expect(await get(runId)).toMatchObject({ status: 'claimed', attempt: 2 });
  });

  it.each([
    ['no body', undefined, []],
    ['no object', [], []],
    ['no agent', {}, ['agent_id']],
    ['an agent that is no text', { agent_id: 7 }, ['agent_id']],
    ['an agent with a NUL', { agent_id: 'a\u0000b' }, ['agent_id']],
  ])('refuses %s with 422, at the field', async (_what, body, at) => {
    const worker = await frameless();
    const answer = await post(worker, `workers/${worker.id}/runs/claim`, body);
    expect(answer).toMatchObject({ status: 422, json: { code: 'input.invalid', detail: [{ loc: ['body', ...at] }] } });
  });
});

describe('reports by REST', () => {
  it('move a run to its end, and answer the run whole each time', async () => {
    const worker = await frameless();
    const runId = await queue(worker.handle, { n: 2 });
    await claim(worker);
    const begun = await say(worker, runId, 'start');
    expect(begun).toMatchObject({ status: 200, json: { run_id: runId, status: 'running', input: { n: 2 } } });
    const usage = { model: 'm', input_tokens: 3, output_tokens: 4.5, cost_amount: 0.25, odd: {} };
    const done = await say(worker, runId, 'complete', {
      output: { text: 'done' },
      usage,
      snapshot: { components: [] },
    });
    const end = { status: 'succeeded', output: { text: 'done' }, worker_id: worker.id };
    expect(done).toMatchObject({ status: 200, json: end });
    expect(done.json.usage).toEqual({ model: 'm', input_tokens: 3, cost_amount: 0.25 }); // what can be kept
    expect(await get(runId)).toMatchObject({ ...end, revivable: true });
  });

  it('said again are answered as before, and change nothing', async () => {
    const worker = await frameless();
    const won = await started(worker);
    const success = { output: { text: 'x', order: 1 }, usage: null };
    const first = await say(worker, won, 'complete', success);
    const again = await say(worker, won, 'complete', { usage: null, output: { order: 1, text: 'x' } });
    expect({ status: again.status, json: again.json }).toEqual({ status: 200, json: first.json });
    const failing = await started(worker);
    const failed = await say(worker, failing, 'fail', { error: 'Boom: no\nTraceback' });
    expect(failed).toMatchObject({ status: 200, json: { status: 'failed', error: 'Boom: no\nTraceback' } });
    expect((await say(worker, failing, 'fail', { error: 'Boom: no\nTraceback' })).json).toEqual(failed.json);
    expect([...(await lateOf(won)), ...(await lateOf(failing))]).toEqual([]);
    expect(await auditOf(won)).toEqual([]);
    expect(await say(worker, won, 'start')).toMatchObject({ status: 409, json: { code: 'run.terminal' } });
  });

  it('23: a failure after a success that was taken is too late: the success stands, and the failure is kept beside it', async () => {
    const worker = await frameless();
    const runId = await started(worker);
    await say(worker, runId, 'complete', { output: { text: 'mine' } });
    for (const _ of [1, 2])
      expect(await say(worker, runId, 'fail', { error: 'ReadTimeout' })).toMatchObject({
        status: 409,
        json: { code: 'run.terminal' },
      });
    expect(await say(worker, runId, 'complete', { output: { text: 'other' } })).toMatchObject({
      status: 409,
      json: { code: 'run.terminal' },
    });
    expect(await get(runId)).toMatchObject({ status: 'succeeded', output: { text: 'mine' }, error: null });
    expect((await lateOf(runId)).map(({ report }) => report)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ error: 'ReadTimeout' }),
        expect.objectContaining({ output: { text: 'other' } }),
      ]),
    );
    expect(await lateOf(runId)).toHaveLength(2);
  });

  it('of another worker, or of an attempt that is over, are 409 and change nothing but the record', async () => {
    const worker = await frameless();
    const colleague = await frameless(worker.handle, worker.token);
    const runId = await started(worker);
    for (const [verb, more] of [
      ['start', {}],
      ['complete', { output: { stolen: true } }],
      ['fail', { error: 'stolen' }],
    ] as const)
      expect(await say(colleague, runId, verb, more)).toMatchObject({
        status: 409,
        json: { code: 'run.stale_attempt' },
      });
    expect(await get(runId)).toMatchObject({ status: 'running', worker_id: worker.id });
    expect(await lateOf(runId)).toHaveLength(2);
    expect(await auditOf(runId)).toHaveLength(3);
    expect(await say(worker, runId, 'complete', { output: {} })).toMatchObject({ status: 200 });
  });

  it('of a run that was cancelled are 409: it stays cancelled', async () => {
    const worker = await frameless();
    const runId = await started(worker);
    await app.call('POST', `/api/v1/runs/${runId}/cancel`, { key, body: {} });
    for (const verb of ['complete', 'fail'] as const)
      expect(await say(worker, runId, verb, verb === 'fail' ? { error: 'x' } : { output: {} })).toMatchObject({
        status: 409,
        json: { code: 'run.terminal' },
      });
    expect(await get(runId)).toMatchObject({ status: 'cancelled', output: null });
    expect(await auditOf(runId)).toEqual([]); // the answer to our own cancel
  });

  it('about a run of another agent, of another account or of none are the same 404', async () => {
    const worker = await frameless();
    const foreign = await startStub(app, otherKey, { handle: 'foreign' });
    const stranger = await frameless();
    const mine = await started(worker);
    const answers = [];
    for (const [who, runId] of [
      [stranger, mine],
      [foreign, mine],
      [worker, `run_${randomUUID()}`],
    ] as const)
      for (const [verb, more] of [
        ['start', {}],
        ['complete', { output: {} }],
        ['fail', { error: 'x' }],
      ] as const) {
        const { status, json } = await say(who, runId, verb, { ...more, worker_id: worker.id });
        answers.push({ status, ...json, request_id: undefined });
      }
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]).toMatchObject({ status: 404, code: 'run.not_found' });
    expect(await get(mine)).toMatchObject({ status: 'running' });
    expect(await lateOf(mine)).toEqual([]);
  });

  it('tried again by policy: the same failure of the next attempt counts, the old one said again does not', async () => {
    const worker = await frameless();
    const retry = { on: ['failed'], max_attempts: 3, backoff_seconds: 0, factor: 1, max_backoff_seconds: 0 };
    const policy = await app.call('PUT', `/api/v1/agents/${worker.handle}/policy`, { key, body: { retry } });
    expect(policy.status).toBe(200);
    const runId = await started(worker);
    const error = { error: 'the same words' };
    expect(await say(worker, runId, 'fail', error)).toMatchObject({ status: 200, json: { status: 'queued' } });
    expect(await say(worker, runId, 'fail', error)).toMatchObject({ status: 200, json: { status: 'queued' } });
    await claim(worker);
    await say(worker, runId, 'start');
    expect(await say(worker, runId, 'fail', error)).toMatchObject({ status: 200, json: { attempt: 2 } });
    expect(await lateOf(runId)).toEqual([]);
    expect((await get(runId)).status).toBe('queued');
  });

  it('keep what cannot be stored as it was sent, and mask what was handed out', async () => {
    const worker = await frameless();
    const runId = await started(worker);
    const body = `{"worker_id":${JSON.stringify(worker.id)},"output":{"text":"a\\u0000b \\ud800","n":12345678901234567890}}`;
    expect(await post(worker, `runs/${runId}/complete`, body)).toMatchObject({ status: 200 });
    expect((await get(runId)).output).toEqual({ text: 'a\ufffdb \ufffd', n: '12345678901234567890' });
  });

  it.each([
    ['start', {}, 'worker_id'],
    ['start', { worker_id: '' }, 'worker_id'],
    ['start', { worker_id: 'w'.repeat(201) }, 'worker_id'],
    ['start', { worker_id: 'a\u0000' }, 'worker_id'],
    ['complete', { worker_id: 'w' }, 'output'],
    ['complete', { worker_id: 'w', output: 'text' }, 'output'],
    ['complete', { worker_id: 'w', output: {}, usage: 7 }, 'usage'],
    ['complete', { worker_id: 'w', output: {}, snapshot: [] }, 'snapshot'],
    ['fail', { worker_id: 'w' }, 'error'],
    ['fail', { worker_id: 'w', error: {} }, 'error'],
  ] as const)('%s with %j is 422 at %s, and the run goes on', async (verb, body, field) => {
    const worker = await frameless();
    const runId = await started(worker);
    const answer = await post(worker, `runs/${runId}/${verb}`, body);
    expect(answer).toMatchObject({ status: 422, json: { code: 'input.invalid', detail: [{ loc: ['body', field] }] } });
    expect((await get(runId)).status).toBe('running');
  });

  it('over the limit of a frame are 413, and the run goes on', async () => {
    const worker = await frameless();
    const runId = await started(worker);
    const answer = await say(worker, runId, 'complete', { output: { text: 'x'.repeat(16 * 1024 * 1024) } });
    expect(answer.status).toBe(413);
    expect((await get(runId)).status).toBe('running');
  });
});
