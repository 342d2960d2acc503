import { describe, expect, it, jest } from '@jest/globals';
import { amount, patience } from '../support/faults/factor.ts';
import { WorkerProxy } from '../support/faults/worker-proxy.ts';
import { inWorld } from '../support/faults/world.ts';

jest.setTimeout(patience(1_200));

describe('U-27: two replicas are restarted one after the other under load', () => {
  it('answers nothing with 5xx but a 503 that says when to come again, and runs do not notice', async () => {
    await inWorld({ replicas: 2 }, async (world) => {
      const proxy = await WorkerProxy.before(() => world.servers.map(({ url }) => url));
      try {
        for (let index = 0; index < 3; index += 1)
          await world.keepWorker({ url: proxy.url, slots: 2, handlerMs: [20, 400] });
        const load = world.load({ by: 'both', clients: 6, pauseMs: 20 });
        for (let round = 0; round < amount({ short: 1, soak: 10 }); round += 1) {
          for (const replica of world.servers) {
            await load.more(20);
            await replica.restart();
          }
        }
        await load.more(20);
        await load.stop();
        expect(load.refusals.filter(({ status, retryAfter }) => status !== 503 || retryAfter === null)).toEqual([]);
        const count = await world.audit(load);
        expect(count.runs).toBeGreaterThan(50);
        expect(count).toMatchObject({ succeeded: count.runs, entries: count.runs });
      } finally {
        await proxy.close();
      }
    });
  });
});
