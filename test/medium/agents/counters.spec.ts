import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

/** The product's waits at a tenth. */
const TENTH = {
  SIGNALBOX_SWEEP_SECONDS: '0.2',
  SIGNALBOX_PRESENCE_WINDOW_SECONDS: '9',
  SIGNALBOX_CLOSED_OFFER_SECONDS: '0.6',
  SIGNALBOX_CLOSED_LOST_SECONDS: '1.5',
};

let app: RunningApp;
let key: string;
let handles = 0;
beforeAll(async () => {
  app = await startApp({ env: TENTH });
  ({ key } = await app.account());
});
afterAll(() => app.stop());

const stub = (manifest: object = {}): Promise<StubWorker> =>
  startStub(app, key, { handle: `counted-${(handles += 1)}`, manifest: { ...manifest } });
const beside = (worker: StubWorker): Promise<StubWorker> =>
  startStub(app, key, { handle: worker.handle, token: worker.token });

async function ask(method: 'GET' | 'POST' | 'PUT', path: string, body?: object): Promise<Json> {
  const { status, json } = await app.call(method, `/api/v1${path}`, { key, ...(body && { body }) });
  expect(status).toBe(200);
  return json;
}
const queue = async ({ handle }: StubWorker): Promise<string> =>
  (await ask('POST', '/runs', { agent_id: handle })).run_id;

/** Total, busy and free workers; active and queued runs. The list and the agent say the same. */
async function counts({ handle }: StubWorker): Promise<number[]> {
  const of = (agent: Json): number[] => [
    ...[agent.instances_total, agent.instances_busy, agent.instances_free],
    ...[agent.runs_active, agent.runs_queued],
  ];
  const shown = await ask('GET', `/agents/${handle}`);
  const listed = (await ask('GET', '/agents')).find(({ id_slug }: Json) => id_slug === handle);
  expect(of(listed)).toEqual(of(shown));
  expect(shown.oldest_queued_run_at === null).toBe(shown.runs_queued === 0);
  return of(shown);
}

describe('the counters of an agent are right', () => {
  it('while its runs are asked for, claimed, started and finished', async () => {
    const worker = await stub();
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 0]);
    await queue(worker);
    await queue(worker);
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 2]);
    const job = await worker.claim();
    expect(await counts(worker)).toEqual([1, 1, 0, 1, 1]);
    await worker.start(job.run_id);
    expect(await counts(worker)).toEqual([1, 1, 0, 1, 1]);
    await worker.complete(job.run_id, {});
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 1]);
    const next = await worker.claim();
    await worker.start(next.run_id);
    await worker.fail(next.run_id, 'no');
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 0]);
  });

  it('while its runs are cancelled, waiting or running', async () => {
    const worker = await stub();
    const running = await queue(worker);
    await worker.claim();
    await worker.start(running);
    const waiting = await queue(worker);
    await ask('POST', `/runs/${waiting}/cancel`);
    expect(await counts(worker)).toEqual([1, 1, 0, 1, 0]);
    await ask('POST', `/runs/${running}/cancel`);
    await worker.fail(running, 'cancelled');
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 0]);
  });

  it('while a run is tried again: it waits like any other, from when it was queued again', async () => {
    const worker = await stub();
    const retry = { on: ['failed'], max_attempts: 2, backoff_seconds: 0 };
    await ask('PUT', `/agents/${worker.handle}/policy`, { retry });
    const runId = await queue(worker);
    await worker.claim();
    await worker.start(runId);
    await worker.fail(runId, 'once');
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 1]);
    expect(await worker.claimSoon()).toMatchObject({ run_id: runId });
    expect(await counts(worker)).toEqual([1, 1, 0, 1, 0]);
    await worker.start(runId);
    await worker.fail(runId, 'twice');
    expect(await counts(worker)).toEqual([1, 0, 1, 0, 0]);
  });

  it('while a worker is lost: it is offline at once, as its own page says, and its run is nobody’s', async () => {
    const worker = await stub();
    const other = await beside(worker);
    await worker.open();
    const runId = await queue(worker);
    await worker.claimSoon();
    await worker.start(runId);
    expect(await counts(worker)).toEqual([2, 1, 1, 1, 0]);
    worker.close();
    await eventually(async () => expect(await counts(worker)).toEqual([1, 0, 1, 0, 0]));
    expect(await ask('GET', `/workers/${worker.id}`)).toMatchObject({ state: 'offline' });
    const { instances } = await ask('GET', `/agents/${worker.handle}`);
    expect(instances).toMatchObject([
      { worker_id: worker.id, is_online: false, current_run_id: null },
      { worker_id: other.id, is_online: true },
    ]);
    expect(await ask('GET', `/runs/${runId}`)).toMatchObject({ status: 'failed' });
  });

  it('where a worker takes several runs: it is busy when its last slot is taken', async () => {
    const worker = await stub({ max_concurrent: 2 });
    await queue(worker);
    await queue(worker);
    const first = await worker.claim({ holds: [] });
    expect(await counts(worker)).toEqual([1, 0, 1, 1, 1]);
    await worker.claim({ holds: [first.run_id] });
    expect(await counts(worker)).toEqual([1, 1, 0, 2, 0]);
  });

  it('where the oldest of several waiting runs is the one whose time is shown', async () => {
    const worker = await stub();
    const [first] = [await queue(worker), await queue(worker)];
    const { created_at } = await ask('GET', `/runs/${first}`);
    const { oldest_queued_run_at: oldest } = await ask('GET', `/agents/${worker.handle}`);
    expect(Math.abs(Date.parse(oldest) - Date.parse(created_at))).toBeLessThan(5);
  });
});
