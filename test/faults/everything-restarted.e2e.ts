import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { amount, patience, scaled } from '../support/faults/factor.ts';
import { chanceOf } from '../support/faults/seed.ts';
import { inWorld, type KeptWorker } from '../support/faults/world.ts';

jest.setTimeout(patience(600));

describe('F-30: everything is restarted five times', () => {
  it('while runs are queued: as many rows and completions as runs', async () => {
    const chance = chanceOf('everything restarted');
    const total = amount({ short: 150, soak: 500 });
    await inWorld({}, async (world) => {
      const kept: KeptWorker[] = [];
      for (let index = 0; index < 2; index += 1) kept.push(await world.keepWorker({ slots: 4, handlerMs: [100, 400] }));
      const load = world.load({ total, clients: 10, pauseMs: 0 });
      await load.finished();
      for (let restart = 0; restart < 5; restart += 1) {
        await sleep(chance.between(0.2, 1) * scaled(10));
        const workers = kept.map(({ worker }) => worker.stop()); // they finish what they have; others take their places
        await Promise.all([...workers, world.server.restart()]);
      }
      const count = await world.audit(load, { withinSeconds: 300 });
      expect(count).toMatchObject({ runs: total, succeeded: total, entries: total });
    });
  });
});
