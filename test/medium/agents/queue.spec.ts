import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account & { readonly ownerId: string };
let agents = 0;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

async function newAgent(): Promise<StubWorker> {
  return startStub(app, account.key, { handle: `queue-${(agents += 1)}` });
}

const read = (ref: string, key = account.key) => app.call('GET', `/api/v1/agents/${ref}/queue`, { key });
const change = (ref: string, verb: string, body?: unknown, key = account.key) =>
  app.call('POST', `/api/v1/agents/${ref}/queue/${verb}`, { key, body });
const order = (ref: string, more: object = {}) =>
  app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: ref, ...more } });

describe('an agent’s queue', () => {
  it('is open until somebody changes it, and says how long and how old it is', async () => {
    const worker = await newAgent();
    expect((await read(worker.handle)).json).toEqual({
      ...{ scope: 'agent', state: 'open', since: null, by: null, reason: null },
      ...{ queued: 0, active: 0, oldest_queued_at: null },
    });
    const { created_at: oldest } = (await order(worker.handle)).json;
    await order(worker.handle);
    expect((await read(worker.handle)).json).toMatchObject({ queued: 2, active: 0, oldest_queued_at: oldest });
    await worker.claim();
    expect((await read(worker.handle)).json).toMatchObject({ queued: 1, active: 1 });
  });

  it.each([
    ['pause', 'paused'],
    ['drain', 'draining'],
  ])('%s and resume are repeatable: each repeat answers the first’s state', async (verb, state) => {
    const { handle } = await newAgent();
    const first = await change(handle, verb, { reason: 'first' });
    expect(first.json).toMatchObject({ scope: 'agent', state, by: account.ownerId, reason: 'first' });
    expect(first.json.since).toMatch(/Z$/);
    const { key: other } = (
      await app.call('POST', '/api/v1/api-keys', {
        key: account.key,
        body: { name: 'second operator', role_ids: ['role_operator'] },
      })
    ).json;
    expect((await change(handle, verb, { reason: 'second' }, other)).json).toEqual(first.json);
    expect((await change(handle, verb)).json).toEqual(first.json);
    expect((await read(handle)).json).toEqual(first.json);
    const shown = (await app.call('GET', `/api/v1/agents/${handle}`, { key: account.key })).json;
    expect(shown.queue).toEqual(first.json);
    const resumed = await change(handle, 'resume', { reason: null });
    expect(resumed.json).toMatchObject({ state: 'open', by: account.ownerId, reason: null });
    expect((await change(handle, 'resume')).json).toEqual(resumed.json);
  });

  it('that nobody ever closed stays untouched by a resume', async () => {
    const { handle } = await newAgent();
    expect((await change(handle, 'resume')).json).toMatchObject({ state: 'open', since: null, by: null });
  });

  it('of twenty who pause at once has one since and one who did it', async () => {
    const { handle } = await newAgent();
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => change(handle, 'pause', { reason: `reason ${index}` })),
    );
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  });

  it('takes new runs while it is paused, and refuses them while it drains', async () => {
    const { handle } = await newAgent();
    await change(handle, 'pause');
    expect((await order(handle)).json).toMatchObject({ status: 'queued' });
    await change(handle, 'drain');
    const invoked = await app.call('POST', `/api/v1/agents/${handle}/invoke`, { key: account.key, body: {} });
    for (const { status, json } of [await order(handle), invoked])
      expect([status, json.code]).toEqual([409, 'agent.draining']);
    expect((await read(handle)).json.queued).toBe(1);
    await change(handle, 'resume');
    expect((await order(handle)).status).toBe(200);
  });

  it('hands out nothing while it is paused, and what waits while it drains; what is out goes on', async () => {
    const worker = await newAgent();
    const first = (await order(worker.handle)).json.run_id;
    const second = (await order(worker.handle)).json.run_id;
    expect((await worker.claimSoon()).run_id).toBe(first);
    await change(worker.handle, 'pause');
    await worker.start(first);
    await worker.complete(first, { text: 'done' });
    expect((await app.call('GET', `/api/v1/runs/${first}`, { key: account.key })).json.status).toBe('succeeded');
    expect(await worker.claim()).toBeUndefined();
    await change(worker.handle, 'drain');
    expect((await worker.claimSoon()).run_id).toBe(second);
  });

  it('that drains still answers a repeated event with its run', async () => {
    const worker = await newAgent();
    const invoke = (body: object) =>
      app.call('POST', `/api/v1/agents/${worker.handle}/invoke`, { key: account.key, body });
    const first = invoke({ event_id: 'once', input: { n: 1 } });
    await worker.serve({ text: 'served' });
    const { run_id } = (await first).json;
    await change(worker.handle, 'drain');
    expect((await invoke({ event_id: 'once', input: { n: 1 } })).json).toMatchObject({ run_id, status: 'succeeded' });
    expect((await invoke({ event_id: 'once', input: { n: 2 } })).json.code).toBe('idempotency.conflict');
  });

  it('rings for what waits when it is resumed', async () => {
    const worker = await newAgent();
    await change(worker.handle, 'pause');
    await worker.open();
    worker.heard.length = 0;
    await change(worker.handle, 'resume');
    expect(await worker.hears('work_available')).toBeDefined();
    worker.close();
  });

  it('leaves each change on record, and what a repeat was', async () => {
    const { handle } = await newAgent();
    await change(handle, 'pause', { reason: 'flood' });
    await change(handle, 'pause');
    await change(handle, 'resume');
    const rows: Json[] = await app.database.query(
      `SELECT action, detail FROM audit_entry WHERE target_id = $1 AND action LIKE 'agent_queue.%' ORDER BY at, id`,
      [handle],
    );
    expect(rows).toMatchObject([
      { action: 'agent_queue.pause', detail: { before: 'open', after: 'paused', reason: 'flood', changed: true } },
      { action: 'agent_queue.pause', detail: { before: 'paused', after: 'paused', changed: false } },
      { action: 'agent_queue.resume', detail: { before: 'paused', after: 'open', changed: true } },
    ]);
  });

  it('does not open for a worker token, and of another account’s agent there is none', async () => {
    const worker = await newAgent();
    const { key: foreign } = await app.account();
    for (const verb of ['pause', 'drain', 'resume']) {
      const byWorker = await change(worker.handle, verb, undefined, worker.token);
      expect([byWorker.status, byWorker.json.code]).toEqual([403, 'access.denied']);
      expect((await change(worker.handle, verb, undefined, foreign)).json.code).toBe('agent.not_found');
    }
    expect((await read(worker.handle, foreign)).json.code).toBe('agent.not_found');
    expect((await read(worker.handle)).json).toMatchObject({ state: 'open', since: null });
  });
});
