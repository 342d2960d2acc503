import { describe, expect, it, jest } from '@jest/globals';
import { amount, patience } from '../support/faults/factor.ts';
import { chanceOf } from '../support/faults/seed.ts';
import { WorkerProxy, type Fate } from '../support/faults/worker-proxy.ts';
import { inWorld } from '../support/faults/world.ts';

jest.setTimeout(patience(600));

describe('F-29: one of five answers to workers is lost on the way', () => {
  it('ends each run exactly once, and leaves none over', async () => {
    const chance = chanceOf('answers swallowed');
    /** Most are cut off; for the others the worker waits until its time is up. */
    const fate = (): Fate => (chance.next() >= 0.2 ? 'passes' : chance.next() < 0.9 ? 'closed' : 'never');
    await inWorld({}, async (world) => {
      const proxy = await WorkerProxy.before(() => [world.server.url]);
      try {
        for (let index = 0; index < 3; index += 1)
          await world.keepWorker({ url: proxy.url, slots: index === 0 ? 1 : 4, handlerMs: [10, 50] });
        proxy.fate = fate;
        const load = world.load({ clients: 4, total: amount({ short: 200, soak: 1_000 }) });
        await load.finished();
        const count = await world.audit(load, { withinSeconds: 300 });
        expect(count.runs).toBe(amount({ short: 200, soak: 1_000 }));
        expect(count.succeeded).toBeGreaterThan(count.runs * 0.9);
        expect(proxy.swallowed).toBeGreaterThan(count.runs / 2);
      } finally {
        await proxy.close();
      }
    });
  });
});
