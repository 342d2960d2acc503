import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../support/app.ts';
import { LEGACY_VERSIONS, describeSdk, type Sdk } from '../support/python.ts';
import { eventually, present } from '../support/rest.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { WireTap } from './wire-tap.ts';
import { handleFor, World } from './world.ts';

/** What an idle worker waits between its claims when no doorbell rings, at least. */
const POLL_MS = 4_000;

let world: World;
beforeAll(async () => {
  world = await World.open({ env: { SIGNALBOX_CLOSED_OFFER_SECONDS: '0.6' } });
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk(
  'the first dialect',
  (sdk) => {
    describe('one worker', () => oneWorker(sdk));
    describe('two workers', () => twoWorkers(sdk));
  },
  LEGACY_VERSIONS,
);

function oneWorker(sdk: Sdk): void {
  const handle = handleFor(sdk, 'legacy');
  let worker: WorkerProcess;
  beforeAll(async () => {
    worker = await world.worker(sdk, handle, { script: 'legacy.py' });
  }, 90_000);

  it('§20: comes up by its heartbeat, and is told apart by it', async () => {
    expect(await world.rest.ask('GET', `/api/v1/workers/${worker.id}`)).toMatchObject({
      state: 'online',
      dialect: '0.1',
      endpoint_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:/),
      presence: { window_seconds: 35 },
    });
  });

  it('§20.2: hears its doorbell, and runs to the end', async () => {
    await rings(handle);
  }, 30_000);

  it('§20.5: fails in its own words, by an exception and by a task that failed', async () => {
    const raised = await world.invoke(handle, { mode: 'fail' });
    expect(raised).toMatchObject({ status: 'failed', error: expect.stringContaining('boom') });
    const failed = await world.invoke(handle, { mode: 'failtask' });
    expect(failed).toMatchObject({ status: 'failed', error: expect.stringContaining('handled failure') });
  }, 30_000);

  it('§20.4: is interrupted by a cancel, says nothing, and takes the next run', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'slow', seconds: 60 });
    await world.reached(runId, 'running');
    await world.cancel(runId, 'enough');
    expect(await world.invoke(handle, { prompt: 'next' })).toMatchObject({ status: 'succeeded' });
    expect(await world.run(runId)).toMatchObject({ status: 'cancelled', attempt: 1 });
  }, 40_000);

  it('worker-protocol §23.23 §20.1: what it tells during a run is in the run’s record', async () => {
    const { run_id: runId } = await world.invoke(handle, { prompt: 'told' });
    await eventually(async () => {
      const contents = (await world.run(runId)).messages.map(({ content }) => content);
      expect(contents).toEqual(expect.arrayContaining(['told', 'did echo']));
    });
  }, 30_000);

  it('§20.7: drains: it ends the run that it has, and leaves', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'slow', seconds: 3 });
    await world.reached(runId, 'running');
    worker.signal('SIGTERM');
    expect(await world.ended(runId)).toMatchObject({ status: 'succeeded' });
    expect(await worker.ended).toBe(0);
  }, 40_000);

  it('A4a: killed without a word, it has lost its run', async () => {
    const other = await world.worker(sdk, handle, { script: 'legacy.py' });
    const { run_id: runId } = await world.createRun(handle, { mode: 'slow', seconds: 60 });
    await world.reached(runId, 'running');
    await other.kill();
    const run = await world.ended(runId, 40_000);
    expect(run).toMatchObject({ status: 'failed', error: expect.stringContaining('worker_lost') });
  }, 90_000);
}

/** An idle worker's own polls are too far apart to find both. */
async function rings(handle: string): Promise<void> {
  for (const prompt of ['first', 'second']) {
    const began = performance.now();
    expect(await world.invoke(handle, { prompt })).toMatchObject({ status: 'succeeded', output: { text: prompt } });
    expect(performance.now() - began).toBeLessThan(POLL_MS - 500);
  }
}

function twoWorkers(sdk: Sdk): void {
  const handle = handleFor(sdk, 'legacy-pair');
  let tap: WireTap;
  let pair: WorkerProcess[];
  const worker = () => world.worker(sdk, handle, { script: 'legacy.py', url: tap.url });
  const openChannels = () => tap.channels.filter(({ status, closed }) => status === 200 && !closed);
  /** What was said of a run, in order. */
  const reports = (runId: string, workerId: string) =>
    tap
      .asked(new RegExp(`/runs/${runId}/\\w+$`))
      .filter(({ body }) => body.worker_id === workerId)
      .map(({ path }) => path.split('/').at(-1));
  const contentsOf = async (runId: string) => (await world.run(runId)).log_events.map(({ message }) => message);

  beforeAll(async () => {
    tap = await WireTap.before(world.server.url);
    pair = [await worker()];
    await eventually(() => expect(openChannels()).toHaveLength(1));
  }, 90_000);
  afterAll(() => tap.close());

  it('§20: goes on when its channel breaks in the middle of a run, reports once, and hears the next doorbell', async () => {
    const { run_id: runId } = await world.createRun(handle, { mode: 'slow', seconds: 3 });
    const { worker_id: workerId } = await world.reached(runId, 'running');
    tap.refuseChannels();
    expect(openChannels()).toEqual([]);
    tap.admitChannels();
    expect(await world.ended(runId)).toMatchObject({ status: 'succeeded', attempt: 1, output: { mode: 'slow' } });
    expect(reports(runId, present(workerId))).toEqual(['start', 'complete']);
    const channel = await eventually(() => present(openChannels()[0]));
    await rings(handle);
    expect(channel.text).toContain('event: work_available');
  }, 60_000);

  it('worker-protocol §23.23 §20.1: batches that mix runs and process logs are taken at once; each run has its worker’s words', async () => {
    pair.push(await worker());
    const { run_id: other } = await world.createRun(handle, { mode: 'both', other: 'elsewhere', seconds: 4 });
    await world.reached(other, 'running');
    const { run_id: runId } = await world.invoke(handle, { mode: 'both', other });
    expect((await world.run(other)).status).toBe('running');
    const ended = await world.ended(other);
    expect(ended).toMatchObject({ status: 'succeeded' });
    expect(ended.worker_id).not.toBe((await world.run(runId)).worker_id);
    const batches = tap
      .asked(/hooks\/events$/)
      .filter(({ body }) => JSON.stringify(body).includes('told of both'))
      .map(({ status, body }) => ({ status, runs: new Set(body.params.events.map((event: Json) => event.run_id)) }));
    expect(batches).toEqual([
      { status: 200, runs: new Set([other, 'elsewhere', 'unknown']) },
      { status: 200, runs: new Set([runId, other, 'unknown']) },
    ]);
    for (const one of [runId, other])
      await eventually(async () =>
        expect((await contentsOf(one)).filter((content) => content === 'told of both')).toHaveLength(1),
      );
    const late = await world.rest.ask<Json[]>('GET', `/api/v1/runs/${other}/late`); // what the other’s worker said of it
    const foreign = late.filter(({ why }) => why === 'not_owner');
    expect(foreign).toMatchObject([{ event: { content: 'told of both' } }]);
  }, 60_000);

  it.each<[string, NodeJS.Signals, number | NodeJS.Signals]>([
    ['A4a: is killed', 'SIGKILL', 'SIGKILL'],
    ['§20.7: is told to leave', 'SIGTERM', 0],
  ])(
    '%s while its claim is answered: that run is offered again, without a word of it, and the other one does it',
    async (_what, signal, code) => {
      const letGo = tap.hold(({ path, answer }) => path.endsWith('/runs/claim') && (answer as Json)?.job != null);
      const { run_id: runId } = await world.createRun(handle, { prompt: 'once' });
      const { worker_id: workerId, attempt } = await world.reached(runId, 'claimed');
      const leaving = present(pair.find(({ id }) => id === workerId));
      const staying = present(pair.find(({ id }) => id !== workerId));
      leaving.signal(signal);
      if (signal === 'SIGTERM') await eventually(() => expect(leaving.output()).toContain('received SIGTERM'));
      letGo();
      expect([attempt, await leaving.ended]).toEqual([1, code]);
      expect(await world.ended(runId)).toMatchObject({ status: 'succeeded', attempt: 2, worker_id: staying.id });
      expect(reports(runId, leaving.id)).toEqual([]);
      expect(reports(runId, staying.id)).toEqual(['start', 'complete']);
      pair = [staying, await worker()];
    },
    90_000,
  );
}
