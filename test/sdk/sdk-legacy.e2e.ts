import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LEGACY_VERSIONS, describeSdk, type Sdk } from '../support/python.ts';
import { eventually } from '../support/rest.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { handleFor, World } from './world.ts';

/** What an idle worker waits between its claims when no doorbell rings, at least. */
const POLL_MS = 4_000;

let world: World;
beforeAll(async () => {
  world = await World.open();
}, 90_000);
afterAll(() => world.close(), 60_000);

await describeSdk('the first dialect', (sdk) => describe('one worker', () => oneWorker(sdk)), LEGACY_VERSIONS);

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
    const began = performance.now();
    expect(await world.invoke(handle, { prompt: 'hi' })).toMatchObject({ status: 'succeeded', output: { text: 'hi' } });
    const again = performance.now();
    expect(await world.invoke(handle, { prompt: 'hi' })).toMatchObject({ status: 'succeeded' });
    expect(Math.min(again - began, performance.now() - again)).toBeLessThan(POLL_MS);
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

  it('§20.1: what it tells during a run is in the run’s record', async () => {
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
