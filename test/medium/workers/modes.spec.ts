import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubWorker, startStub } from '../../support/stub-worker.ts';
import type { Account } from './wire.ts';

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

async function crewOf(handle: string): Promise<[StubWorker, StubWorker]> {
  const first = await startStub(app, account.key, { handle });
  const second = new StubWorker(app.url, first.token, { handle });
  await second.register();
  return [first, second];
}

async function act(worker: StubWorker, action: string): Promise<void> {
  const path = `/api/v1/workers/${worker.id}/actions`;
  expect((await app.call('POST', path, { key: account.key, body: { action } })).status).toBe(200);
}

async function create(handle: string): Promise<string> {
  const body = { agent_id: handle, input: {} };
  return (await app.call('POST', '/api/v1/runs', { key: account.key, body })).json.run_id;
}

async function statusOf(runId: string): Promise<string> {
  return (await app.call('GET', `/api/v1/runs/${runId}`, { key: account.key })).json.status;
}

describe('the three ways to leave', () => {
  it.each(['drain', 'pause'])(
    'Q-15: after %s a worker gets no new work, and finishes what it holds',
    async (action) => {
      const handle = `held-${action}`;
      const [worker] = await crewOf(handle);
      const held = await create(handle);
      await worker.claim();
      await worker.start(held);
      await act(worker, action);
      const waiting = await create(handle);
      expect((await worker.complete(held, { text: 'done' })).payload).toMatchObject({ accepted: true });
      expect(await statusOf(held)).toBe('succeeded');
      for (let ask = 0; ask < 3; ask += 1) expect(await worker.claim()).toBeUndefined();
      expect(await statusOf(waiting)).toBe('queued');
      await act(worker, 'resume');
      expect((await worker.claim()).run_id).toBe(waiting); // at once: what was believed of the agent is forgotten
    },
  );

  it('Q-15, F-33: why each of them gets nothing stands in explain', async () => {
    const [drained, paused] = await crewOf('drained');
    await act(drained, 'drain');
    await act(paused, 'pause');
    const runId = await create('drained');
    expect([await drained.claim(), await paused.claim()]).toEqual([undefined, undefined]);
    const { json } = await app.call('GET', `/api/v1/runs/${runId}/explain`, { key: account.key });
    const codes = json.candidates.map((one: Json) => [one.worker_id, one.eligible, one.reason.code]);
    expect(Object.fromEntries(codes.map(([id, ...rest]: Json[]) => [id, rest]))).toEqual({
      [drained.id]: [false, 'worker.draining'],
      [paused.id]: [false, 'worker.paused'],
    });
  });

  it('Q-15: a lame duck gets queued work only while nobody else can', async () => {
    const [duck, colleague] = await crewOf('ducks');
    await act(duck, 'lame_duck');
    const first = await create('ducks');
    expect(await duck.claim()).toBeUndefined();
    expect((await colleague.claimSoon()).run_id).toBe(first);
    await colleague.start(first);
    await colleague.complete(first, {});
    const second = await create('ducks');
    expect(await duck.claim()).toBeUndefined();
    await act(colleague, 'pause');
    expect((await duck.claimSoon()).run_id).toBe(second);
  });
});
