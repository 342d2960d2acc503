import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { amount, patience } from '../support/faults/factor.ts';
import { inWorld } from '../support/faults/world.ts';

jest.setTimeout(patience(900));

describe('a replica whose clock is two minutes wrong, beside a right one', () => {
  it.each([-120, 120])(
    'by %d s: takes no worker for lost, ends no run too early, and hands out as the other does',
    async (seconds) => {
      const env = (replica: number): Record<string, string> =>
        replica === 0 ? {} : { NODE_ENV: 'test', SIGNALBOX_CLOCK_OFFSET_SECONDS: String(seconds) };
      await inWorld({ replicas: 2, env }, async (world) => {
        for (const { url } of world.servers)
          await world.keepWorker({ url, slots: 2, handlerMs: [50, 500], batches: 2 });
        const load = world.load({ by: 'both', clients: 4, pauseMs: 20 });
        await sleep(amount({ short: 5_000, soak: 300_000 }));
        await load.more(20);
        await load.stop();
        const count = await world.audit(load);
        expect(count.runs).toBeGreaterThan(20);
        expect(count).toMatchObject({ succeeded: count.runs, entries: count.runs });
        const workers = await world.server.query(`SELECT DISTINCT worker_id FROM run`);
        expect(workers).toHaveLength(2);
      });
    },
  );
});
