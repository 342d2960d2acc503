import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { startStub, type FrameAnswer, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;
beforeAll(async () => {
  app = await startApp();
  ({ key } = await app.account());
});
afterAll(() => app.stop());

let handles = 0;
const stub = (given: { handle?: string; token?: string } = {}): Promise<StubWorker> =>
  startStub(app, key, { handle: `selfish-${(handles += 1)}`, ...given });
const newRunId = (): string => `run_${randomUUID().replaceAll('-', '')}`;
const trigger = (worker: StubWorker, runId: unknown, more: object = {}): Promise<FrameAnswer> =>
  worker.frame('trigger_agent', { run_id: runId, ...more });
const get = async (path: string, as = key) => app.call('GET', `/api/v1/runs/${path}`, { key: as });
const policy = (handle: string, body: object) => app.call('PUT', `/api/v1/agents/${handle}/policy`, { key, body });

describe('a run that a worker begins by itself', () => {
  it('is running at once, in the worker’s hands, and its record and end are those of any run', async () => {
    const worker = await stub();
    const runId = newRunId();
    const given = { input: { prompt: 'a message came' }, metadata: { room: 7 }, event_id: 'evt_mine' };
    const accepted = { run_id: runId, accepted: true, status: 'running', worker_id: worker.id };
    expect(await trigger(worker, runId, given)).toMatchObject({ status: 200, type: 'run_state', payload: accepted });
    const run = { status: 'running', attempt: 1, channel: 'agent', origin: { kind: 'agent' }, worker_id: worker.id };
    expect((await get(runId)).json).toMatchObject({ ...run, input: given.input, metadata: given.metadata });
    await worker.send(runId, [{ event_type: 'log.created', content: 'working' }]);
    expect((await worker.complete(runId, { text: 'done' })).payload).toMatchObject({ accepted: true });
    expect((await get(runId)).json).toMatchObject({ status: 'succeeded', output: { text: 'done' } });
    expect((await get(`${runId}/events`)).json).toHaveLength(1);
    expect((await get(`${runId}/attempts`)).json).toMatchObject([
      { attempt: 1, path: 'self', worker_id: worker.id, end: 'end.succeeded', started_at: expect.any(String) },
    ]);
    expect((await get(`${runId}/explain`)).json.reason.code).toBe('end.succeeded');
    const audit = `SELECT outcome, actor_kind FROM audit_entry WHERE target_id = $1 AND action = 'run.trigger'`;
    expect(await app.database.query(audit, [runId])).toEqual([{ outcome: 'done', actor_kind: 'agent' }]);
  });

  it('said again by its worker is the same run, also after its end; another worker is declined, another agent is told of none', async () => {
    const worker = await stub();
    const colleague = await stub({ handle: worker.handle, token: worker.token });
    const stranger = await stub();
    const runId = newRunId();
    await Promise.all(Array.from({ length: 8 }, () => trigger(worker, runId, { input: { n: 1 } })));
    expect((await trigger(worker, runId, { input: { n: 2 } })).payload).toMatchObject({
      accepted: true,
      status: 'running',
    });
    expect((await trigger(colleague, runId)).payload).toMatchObject({ accepted: false, worker_id: worker.id });
    expect(await trigger(stranger, runId)).toMatchObject({ status: 404, payload: { code: 'run.not_found' } });
    await worker.complete(runId, {});
    expect((await trigger(worker, runId)).payload).toMatchObject({ accepted: true, status: 'succeeded' });
    expect((await get(runId)).json.input).toEqual({ n: 1 });
    expect((await get(`${runId}/attempts`)).json).toHaveLength(1);
  });

  it('of the same name in two accounts are two runs', async () => {
    const { key: theirs } = await app.account();
    const [mine, other] = [await stub(), await startStub(app, theirs, { handle: 'selfish' })];
    const runId = 'run_of_that_name';
    await trigger(mine, runId, { input: { of: 'mine' } });
    expect((await trigger(other, runId, { input: { of: 'theirs' } })).payload.accepted).toBe(true);
    expect((await get(runId)).json.input).toEqual({ of: 'mine' });
    expect((await get(runId, theirs)).json.input).toEqual({ of: 'theirs' });
  });

  it('takes no slot: its worker goes on being given work, and neither run ends for the other', async () => {
    const worker = await stub();
    const runId = newRunId();
    await trigger(worker, runId);
    const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: worker.handle, input: {} } });
    expect((await worker.claimSoon()).run_id).toBe(json.run_id);
    await worker.start(json.run_id);
    await worker.complete(json.run_id, {});
    await worker.claim();
    expect((await get(runId)).json.status).toBe('running');
  });

  it('is never tried again, whatever the policy: nobody else knows how to do it', async () => {
    const worker = await stub();
    await policy(worker.handle, { retry: { on: ['failed', 'worker_lost'], max_attempts: 5, backoff_seconds: 0 } });
    const runId = newRunId();
    await trigger(worker, runId);
    await worker.fail(runId, 'it broke');
    expect((await get(runId)).json).toMatchObject({ status: 'failed', attempt: 1, error: 'it broke' });
  });

  it('of a worker that nobody knows is refused, and asks it to register', async () => {
    const known = await stub();
    const unknown = Object.assign(Object.create(known) as StubWorker, { id: 'never-registered' });
    const runId = newRunId();
    expect(await trigger(unknown, runId)).toMatchObject({ status: 404, payload: { code: 'worker.not_registered' } });
    expect((await get(runId)).status).toBe(404);
  });

  it.each([
    ['run_id', { run_id: '' }],
    ['run_id', { run_id: 7 }],
    ['run_id', { run_id: 'x'.repeat(201) }],
    ['run_id', { run_id: 'a\0b' }],
    ['input', { input: 'text' }],
    ['input', { input: { text: '\ud800' } }],
    ['metadata', { metadata: [] }],
    ['event_id', { event_id: '' }],
  ])('with a wrong %s is refused there: %j', async (field, wrong) => {
    const worker = await stub({ handle: 'selfish-strict' });
    const answer = await trigger(worker, newRunId(), wrong);
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.payload)).toContain(`"${field}"`);
  });
});
