import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/rest.ts';
import { patience, scaled } from '../support/faults/factor.ts';
import { inWorld, type World, type WorldOptions } from '../support/faults/world.ts';

jest.setTimeout(patience(1_200));

const BLOCKED_SECONDS = 400;

/** One run whose handler blocks its process, and what is done to the control plane meanwhile. */
async function blocked(options: WorldOptions, trouble: (world: World) => Promise<void>): Promise<void> {
  await inWorld(options, async (world) => {
    await world.keepWorker({ blocks: true, batches: 0, handlerMs: [scaled(BLOCKED_SECONDS), scaled(BLOCKED_SECONDS)] });
    const load = world.load({ total: 1, clients: 1, by: 'runs' });
    await load.finished();
    await eventually(() => expect(world.entries()).toHaveLength(1));
    await world.keepWorker({ handlerMs: [10, 20] }); // would be given the run, if anybody thought that it was lost
    await sleep(scaled(BLOCKED_SECONDS) / 3);
    await trouble(world);
    const count = await world.audit(load, { withinSeconds: BLOCKED_SECONDS });
    expect(count).toMatchObject({ runs: 1, succeeded: 1, entries: 1 });
  });
}

// Nearly all of it is waiting, so the three go on at the same time.
describe('F-27: a handler blocks its whole process for 400 s', () => {
  it('alone, over a rolling restart, and over 40 s without a database: its side effects happen once', async () => {
    await Promise.all([
      blocked({}, async () => {}),
      blocked({ replicas: 2 }, async (world) => {
        for (const replica of world.servers) await replica.restart();
      }),
      blocked({ ownPostgres: true }, async ({ postgres }) => {
        await postgres?.stop();
        await sleep(scaled(40));
        await postgres?.startAgain();
      }),
    ]);
  });
});
