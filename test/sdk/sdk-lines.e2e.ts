import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { collect, joinDeltas } from '../support/events.ts';
import { FRAGILE_VERSIONS, describeSdk } from '../support/python.ts';
import { eventually } from '../support/rest.ts';
import type { WorkerProcess } from '../support/worker-process.ts';
import { WireTap } from './wire-tap.ts';
import { handleFor, World } from './world.ts';

let world: World;
let tap: WireTap;
beforeAll(async () => {
  world = await World.open();
  tap = await WireTap.before(world.server.url);
}, 90_000);
afterAll(async () => {
  tap.close();
  await world.close();
}, 60_000);

/** Its input, and what the run ends with: the lines before 0.3 run here what the suites of the later ones run there. */
const RUNS: readonly (readonly [what: string, script: string, input: object, ends: object])[] = [
  ['K-16: echoes', 'probe.py', { prompt: 'hi' }, { status: 'succeeded', output: { text: 'hi' } }],
  ['D-18: returns nothing', 'probe.py', { mode: 'none' }, { status: 'failed', output: null }],
  ['K-51: keeps artifacts', 'keeper.py', { mode: 'write' }, { status: 'succeeded', output: { text: 'written' } }],
  ['keeps a session', 'keeper.py', { mode: 'remember' }, { status: 'succeeded', output: { text: 'turn 1' } }],
];

await describeSdk(
  'a line',
  (sdk) => {
    const handles = {
      'probe.py': handleFor(sdk, 'probe'),
      'keeper.py': handleFor(sdk, 'kept'),
      'streaming.py': handleFor(sdk, 'told'),
    };
    let probe: WorkerProcess;
    beforeAll(async () => {
      [probe] = await Promise.all([
        world.worker(sdk, handles['probe.py'], { url: tap.url }),
        world.worker(sdk, handles['keeper.py'], { script: 'keeper.py' }),
        world.worker(sdk, handles['streaming.py'], { script: 'streaming.py' }),
      ]);
    }, 120_000);

    it.each(RUNS)(
      '%s',
      async (_what, script, input, ends) => {
        const handle = handles[script as keyof typeof handles];
        const { run_id: runId } = await world.createRun(handle, input);
        expect(await world.ended(runId, 15_000)).toMatchObject({ ...ends, attempt: 1 });
        if (script !== 'keeper.py' || !('mode' in input) || input.mode !== 'write') return;
        const list = await world.rest.ask<{ name: string }[]>('GET', `/api/v1/runs/${runId}/artifacts`);
        expect(list.map(({ name }) => name)).toEqual(['report.md', 'data.bin']);
      },
      30_000,
    );

    it('K-18 K-52: streams: the words come while the run executes, and together are the final text', async () => {
      const events = await collect(world.rest.invokeStream(handles['streaming.py'], { input: { prompt: 'count' } }));
      expect(joinDeltas(events)).toBe('one two three four five six');
      const first = events.find(({ event }) => event === 'message.delta');
      expect(Number(events.at(-1)?.at) - Number(first?.at)).toBeGreaterThan(500);
      expect(events.at(-1)).toMatchObject({ event: 'done', data: { status: 'succeeded' } });
    }, 30_000);

    describe('what breaks', () => breaks(handles['probe.py'], () => probe));
  },
  FRAGILE_VERSIONS,
);

function breaks(handle: string, probe: () => WorkerProcess): void {
  const running = async (input: object): Promise<string> => {
    const { run_id: runId } = await world.createRun(handle, input);
    await world.reached(runId, 'running', 12_000);
    return runId;
  };

  it('a run goes on over a channel that is dropped, and the next channel is rung', async () => {
    const runId = await running({ mode: 'ticks', count: 6 });
    const before = tap.channels.length;
    tap.refuseChannels();
    tap.admitChannels();
    expect(await world.ended(runId)).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      output: { text: '0 1 2 3 4 5' },
    });
    await eventually(() => expect(tap.channels.length).toBeGreaterThan(before));
    const { run_id: next } = await world.createRun(handle, { prompt: 'rung' });
    expect(await world.ended(next, 6_000)).toMatchObject({ status: 'succeeded' });
    expect(tap.channels.at(-1)?.text).toContain('work_available');
  }, 40_000);

  it('a run outlives a server that is killed and comes back', async () => {
    const runId = await running({ mode: 'ticks', count: 24 });
    await world.server.kill('SIGKILL');
    await world.server.restart();
    expect(await world.ended(runId, 30_000)).toMatchObject({ status: 'succeeded', attempt: 1, worker_id: probe().id });
    expect(world.entries().filter((entry) => entry.runId === runId)).toHaveLength(1);
  }, 60_000);

  it('worker-protocol §23.9: a worker that is asked to leave finishes its run first', async () => {
    const runId = await running({ mode: 'sleep', seconds: 2 });
    expect(await probe().stop()).toBe(0);
    expect(await world.run(runId)).toMatchObject({ status: 'succeeded', output: { text: 'woke up' } });
  }, 40_000);
}
