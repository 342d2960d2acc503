import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import type { LostCommit } from '../support/database-proxy.ts';
import { eventually } from '../support/rest.ts';
import { amount, patience, scaled } from '../support/faults/factor.ts';
import { chanceOf } from '../support/faults/seed.ts';
import { inWorld, type World } from '../support/faults/world.ts';

jest.setTimeout(patience(600));

/** Two workers with eight slots, and clients who ask all the while. */
async function underLoad(world: World, trouble: () => Promise<void>): Promise<void> {
  for (let index = 0; index < 2; index += 1) await world.keepWorker({ slots: 4, handlerMs: [20, 200], batches: 2 });
  const load = world.load({ by: 'both', clients: 6, pauseMs: 20 });
  await load.more(20);
  await trouble();
  await load.more(20);
  await load.stop();
  const count = await world.audit(load, { withinSeconds: 300 });
  expect(count.succeeded).toBeGreaterThan(count.runs / 2);
  expect(count.batches).toBeGreaterThan(count.runs / 2);
  expect(load.refusals.filter(({ status }) => status !== 503)).toEqual([]); // never 500: nothing is wrong with us
  expect(load.refusals.filter(({ retryAfter }) => retryAfter === null)).toEqual([]);
}

describe('F-31: the database goes away under load', () => {
  it('for 20 s, shut down: no run is lost, doubled or left without an owner', async () => {
    await inWorld({ ownPostgres: true }, async (world) => {
      await underLoad(world, async () => {
        await world.postgres?.stop();
        expect((await world.rest.call('GET', '/healthz')).status).toBe(200);
        expect((await world.rest.call('GET', '/readyz')).status).toBe(503);
        await sleep(scaled(20));
        await world.postgres?.startAgain();
        await eventually(async () => expect((await world.rest.call('GET', '/readyz')).status).toBe(200));
      });
    });
  });

  it('for 20 s, frozen: the same', async () => {
    await inWorld({ ownPostgres: true }, async (world) => {
      await underLoad(world, async () => {
        world.postgres?.freeze();
        await sleep(scaled(20));
        world.postgres?.thaw();
      });
    });
  });
});

describe('hard-parts 15: connections are cut exactly at COMMIT', () => {
  it('before it arrives or before its answer does: everybody is told the truth', async () => {
    const chance = chanceOf('cut at commit');
    const fate = (): LostCommit | undefined =>
      chance.next() >= 0.05 ? undefined : chance.pick<LostCommit>(['before', 'after']);
    await inWorld({ ownPostgres: true }, async (world) => {
      await underLoad(world, async () => {
        if (world.postgres) world.postgres.proxy.fate = fate;
        await sleep(amount({ short: 4_000, soak: 60_000 }));
        if (world.postgres) world.postgres.proxy.fate = undefined;
      });
    });
  });
});
