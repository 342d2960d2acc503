import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { amount, patience } from '../support/faults/factor.ts';
import { chanceOf } from '../support/faults/seed.ts';
import { inWorld } from '../support/faults/world.ts';

jest.setTimeout(patience(1_000));

describe('U-15: a server that is killed at random instants under load', () => {
  it('leaves no run stuck, none lost and none doubled', async () => {
    const chance = chanceOf('server killed');
    await inWorld({}, async (world) => {
      for (let index = 0; index < 3; index += 1) await world.keepWorker({ slots: 2, handlerMs: [20, 300] });
      const load = world.load({ by: 'both', clients: 6, pauseMs: 30 });
      for (let kill = 0; kill < amount({ short: 6, soak: 50 }); kill += 1) {
        await sleep(chance.between(200, 1_500));
        await world.server.kill('SIGKILL');
        await world.server.restart();
      }
      await load.more(20);
      await load.stop();
      const count = await world.audit(load);
      expect(count.runs).toBeGreaterThan(20);
      expect(count.batches).toBeGreaterThan(count.runs / 2);
      expect(count.succeeded).toBeGreaterThan(count.runs * 0.8);
    });
  });
});
