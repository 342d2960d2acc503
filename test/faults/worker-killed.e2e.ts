import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/rest.ts';
import { FACTOR, amount, patience, scaled } from '../support/faults/factor.ts';
import { chanceOf } from '../support/faults/seed.ts';
import type { Instant } from '../support/faults/worker-orders.ts';
import { inWorld, type KeptWorker, type World } from '../support/faults/world.ts';

jest.setTimeout(patience(1_200));

const INSTANTS: readonly Instant[] = ['claimed', 'started', 'entered', 'reporting', 'completed'];
/** A policy names whole seconds, five at least. */
const SILENT_LIMIT = Math.max(5, Math.round(60 * FACTOR));
/** What a busy machine takes longer than a sweep. */
const SLACK_MS = 8_000;

/** Workers that end themselves at the worst instants, and are killed at any; one of them only claims. */
async function killedAtRandom(world: World, scenario: string): Promise<void> {
  const chance = chanceOf(scenario);
  const kept: KeptWorker[] = [];
  for (const kind of [{ slots: 1 }, { slots: 1, hasChannel: false }, { slots: 2 }]) {
    const crash = { share: 0.15, seed: Math.floor(chance.next() * 1_000_000), at: INSTANTS };
    kept.push(await world.keepWorker({ ...kind, handlerMs: [20, 200], crash }));
  }
  const load = world.load({ by: 'both', clients: 6, pauseMs: 20 });
  for (let kill = 0; kill < amount({ short: 8, soak: 100 }); kill += 1) {
    await sleep(chance.between(0.5, 1.5) * scaled(4));
    await chance.pick(kept).worker.kill();
  }
  await load.more(20);
  await load.stop();
  for (const place of kept) place.isKept = false; // the last ones live: what they hold must end all the same
  await Promise.all(kept.map(({ worker }) => worker.kill()));
  await world.keepWorker({ slots: 4 });
  counted(await world.audit(load, { withinSeconds: 300, isRetried: scenario.includes('retried') }), scenario);
}

function counted(
  count: { readonly runs: number; readonly succeeded: number; readonly codes: Readonly<Record<string, number>> },
  scenario: string,
): void {
  expect(count.runs).toBeGreaterThan(20);
  const { 'end.succeeded': _succeeded, 'end.worker_lost': lost = 0, ...others } = count.codes;
  expect([scenario, others]).toEqual([scenario, {}]);
  if (!scenario.includes('retried')) expect(lost).toBeGreaterThan(0);
}

describe('U-13: workers that are killed at random instants', () => {
  it('without a retry policy: each run ends once, and none is entered twice', async () => {
    await inWorld({ policy: { silent_limit_seconds: SILENT_LIMIT, max_offers: 20 } }, (world) =>
      killedAtRandom(world, 'workers killed'),
    );
  });

  it('retried on worker_lost: each attempt is entered at most once, and the one that succeeded exactly once', async () => {
    const retry = { on: ['worker_lost'], max_attempts: 10, backoff_seconds: 0.1, factor: 1 };
    await inWorld({ policy: { silent_limit_seconds: SILENT_LIMIT, max_offers: 20, retry } }, (world) =>
      killedAtRandom(world, 'workers killed, retried'),
    );
  });
});

describe('F-32: the worker of a run is killed', () => {
  it.each([
    ['in mid-run, with a channel', true, 30],
    ['in mid-run, one that only claims', false, 60 + 30],
  ])('%s: the run is failed in time, with the reason', async (_what, hasChannel, seconds) => {
    await inWorld({ policy: { silent_limit_seconds: SILENT_LIMIT } }, async (world) => {
      const worker = await world.startWorker({ hasChannel, handlerMs: [scaled(600), scaled(600)] });
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(() => expect(world.entries()).toHaveLength(1));
      const before = performance.now();
      await worker.kill();
      const count = await world.audit(load, { withinSeconds: seconds });
      expect(performance.now() - before).toBeLessThan(scaled(seconds) + SLACK_MS);
      expect(count.codes).toEqual({ 'end.worker_lost': 1 });
      const [run] = await world.server.query<{ error: string }>('SELECT error FROM run');
      expect(run?.error).toContain('worker_lost');
    });
  });

  it('between claim and start: another worker is given the run in time', async () => {
    await inWorld({}, async (world) => {
      const worker = await world.startWorker({ startAfterMs: scaled(600) });
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(async () =>
        expect(await world.server.query('SELECT status FROM run')).toEqual([{ status: 'claimed' }]),
      );
      await world.startWorker();
      const before = performance.now();
      await worker.kill();
      const count = await world.audit(load, { withinSeconds: 30 });
      expect(performance.now() - before).toBeLessThan(scaled(30) + SLACK_MS);
      expect(count).toMatchObject({ succeeded: 1, entries: 1 });
      expect(await world.server.query('SELECT attempt FROM run')).toEqual([{ attempt: 2 }]);
    });
  });
});
