import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;
let otherKey: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp();
  ({ key } = await app.account());
  ({ key: otherKey } = await app.account());
});
afterAll(() => app.stop());

const stub = (whose = key, handle = `hooked-${(handles += 1)}`): Promise<StubWorker> =>
  startStub(app, whose, { handle });
const newRunId = (): string => `cc_${randomUUID()}`;
/** Somebody beside the agent's worker, with its token and a worker id that nobody registered. */
const direct = (worker: StubWorker, runId: unknown, more: object = {}) =>
  app.call('POST', '/api/v1/runs/start-direct', {
    key: worker.token,
    body: { run_id: runId, agent_id: worker.handle, worker_id: `hook-${worker.id}`, ...more },
  });
const say = (worker: StubWorker, runId: string, verb: string, more: object) =>
  app.call('POST', `/api/v1/runs/${runId}/${verb}`, {
    key: worker.token,
    body: { worker_id: `hook-${worker.id}`, ...more },
  });
const get = async (runId: string, whose = key): Promise<Json> =>
  (await app.call('GET', `/api/v1/runs/${encodeURIComponent(runId)}`, { key: whose })).json;

describe('a run that a worker begins under an id of its own', () => {
  it('runs at once, whole in the answer, takes events and ends, though no such worker ever registered', async () => {
    const worker = await stub();
    const runId = newRunId();
    const given = {
      event_id: 'evt_own',
      input: { source: 'startup' },
      metadata: { room: 7 },
      usage: { input_tokens: 2 },
    };
    const answer = await direct(worker, runId, given);
    expect(answer).toMatchObject({
      status: 200,
      json: { ...given, run_id: runId, status: 'running', channel: 'api', worker_id: `hook-${worker.id}`, attempt: 1 },
    });
    expect(typeof answer.json.created_at).toBe('string');
    const events = [{ event_type: 'message.created', role: 'user', content: 'hello', event_id: 'evt_own' }];
    expect(await say(worker, runId, 'events', { events })).toMatchObject({
      status: 200,
      json: { events: 1, messages: 1 },
    });
    expect(await say(worker, runId, 'complete', { output: { text: 'bye' } })).toMatchObject({
      status: 200,
      json: { status: 'succeeded', output: { text: 'bye' } },
    });
    expect(await get(runId)).toMatchObject({ status: 'succeeded', messages: [{ content: 'hello' }] });
    expect(await app.database.query(`SELECT action FROM audit_entry WHERE target_id = $1`, [runId])).toEqual([
      { action: 'run.trigger' },
    ]);
  });

  it('said again, eight times at once too, is one run, also after its end, and the first word stands', async () => {
    const worker = await stub();
    const runId = newRunId();
    const answers = await Promise.all(Array.from({ length: 8 }, (_, n) => direct(worker, runId, { input: { n } })));
    expect(new Set(answers.map(({ status, json }) => JSON.stringify([status, json])).values()).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    await say(worker, runId, 'fail', { error: 'enough' });
    expect(await direct(worker, runId)).toMatchObject({ status: 200, json: { status: 'failed', run_id: runId } });
  });

  it('holds no slot: the agent’s worker goes on with its work', async () => {
    const worker = await stub();
    const runId = newRunId();
    await direct(worker, runId, { worker_id: worker.id });
    const queued = (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: worker.handle } })).json.run_id;
    expect((await worker.claimSoon()).run_id).toBe(queued);
    expect((await get(runId)).status).toBe('running');
  });

  it('begun by another worker of the agent is 409, by another agent the same 404 as one that is not there', async () => {
    const worker = await stub();
    const other = await stub();
    const runId = newRunId();
    await direct(worker, runId);
    expect(await direct(worker, runId, { worker_id: 'hook-of-a-colleague' })).toMatchObject({
      status: 409,
      json: { code: 'run.stale_attempt' },
    });
    expect(await direct(other, runId)).toMatchObject({ status: 404, json: { code: 'run.not_found' } });
    const queued = (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: worker.handle } })).json.run_id;
    expect((await direct(worker, queued)).status).toBe(409); // it waits for whoever claims it
    expect((await get(queued)).status).toBe('queued');
  });

  it('is unique within its account only', async () => {
    const [mine, theirs] = [await stub(), await stub(otherKey)];
    const runId = newRunId();
    await direct(mine, runId, { input: { of: 'mine' } });
    expect(await direct(theirs, runId, { input: { of: 'theirs' } })).toMatchObject({
      status: 200,
      json: { input: { of: 'theirs' } },
    });
    expect((await get(runId)).input).toEqual({ of: 'mine' });
  });

  it('is the token’s, whatever agent is named; and not begun under the name of another agent’s worker', async () => {
    const [worker, other] = [await stub(), await stub()];
    const named = await direct(worker, newRunId(), { agent_id: other.handle });
    expect([named.status, named.json.agent_id]).toEqual([200, (await direct(worker, newRunId())).json.agent_id]);
    expect(await direct(worker, newRunId(), { worker_id: other.id })).toMatchObject({
      status: 403,
      json: { code: 'worker.id_taken' },
    });
  });

  it('of an agent that never came is 404 and makes nothing', async () => {
    const runId = newRunId();
    const { token } = (await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: 'never-came' } }))
      .json;
    const answer = await app.call('POST', '/api/v1/runs/start-direct', {
      key: token,
      body: { run_id: runId, agent_id: 'never-came', worker_id: 'hook' },
    });
    expect(answer).toMatchObject({ status: 404, json: { code: 'agent.not_found' } });
    expect((await get(runId)).code).toBe('run.not_found');
  });

  it.each([
    ['run_id', ''],
    ['run_id', 'r'.repeat(201)],
    ['run_id', 'a/b'],
    ['run_id', 'a\nb'],
    ['run_id', 'a\u0000b'],
    ['run_id', 'a\u2028b'],
    ['run_id', '..'],
    ['run_id', null],
    ['run_id', 7],
    ['agent_id', []],
    ['worker_id', ''],
    ['worker_id', 'w'.repeat(201)],
    ['worker_id', null],
    ['event_id', ''],
    ['event_id', 7],
    ['input', []],
    ['metadata', 'text'],
    ['usage', { input_tokens: 1.5 }],
    ['channel', 'carrier-pigeon'],
  ])('refuses %s = %j with 422 that names it', async (field, value) => {
    const worker = await stub();
    const answer = await direct(worker, newRunId(), { [field]: value });
    expect(answer).toMatchObject({ status: 422, json: { code: 'input.invalid' } });
    expect(answer.json.detail[0].loc.slice(0, 2)).toEqual(['body', field]);
  });

  it('refuses half of a surrogate pair, and an input that no worker could read', async () => {
    const worker = await stub();
    const send = (rest: string) =>
      app.call('POST', '/api/v1/runs/start-direct', {
        key: worker.token,
        body: `{"agent_id":"a","worker_id":"w",${rest}}`,
      });
    for (const rest of [
      '"run_id":"cc_\\ud800"',
      `"run_id":"cc_ok","input":{"a":"\\udc00"}`,
      `"run_id":"cc_ok","input":${'{"a":'.repeat(200)}1${'}'.repeat(200)}`,
    ])
      expect((await send(rest)).status).toBe(422);
    expect((await get('cc_ok')).code).toBe('run.not_found');
  });
});
