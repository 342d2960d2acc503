import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { patience, scaled } from '../support/faults/factor.ts';
import { eventually } from '../support/rest.ts';
import { inWorld, type World } from '../support/faults/world.ts';

jest.setTimeout(patience(300));

const LISTENERS = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'signalbox: bus'`;

/** From asking at the first replica to the answer of a worker that hangs on the second, in milliseconds. */
async function dispatchMs(world: World): Promise<number> {
  const before = performance.now();
  const { status, body } = await world.rest.invoke<{ status: string }>(world.handle, {});
  expect([status, body.status]).toEqual([200, 'succeeded']);
  return performance.now() - before;
}

describe('F-34: the connection that wake-ups come by is ended in the database', () => {
  it('is made again: dispatch is back under 2 s, and what was queued meanwhile is handed out', async () => {
    await inWorld({ replicas: 2 }, async (world) => {
      const [, second] = world.servers;
      await world.keepWorker({ url: second?.url ?? '', handlerMs: [1, 2], batches: 0 });
      await eventually(async () => expect(await dispatchMs(world)).toBeLessThan(2_000));
      const load = world.load({ clients: 2, pauseMs: 50 });
      for (let turn = 0; turn < 3; turn += 1) {
        const ended = await world.server.query(`SELECT pg_terminate_backend(pid) ${LISTENERS}`);
        expect(ended.length).toBeGreaterThan(0);
        await sleep(scaled(5));
      }
      await load.stop();
      const reached = await world.server.query<{ n: number }>(`SELECT count(*)::int AS n ${LISTENERS}`);
      expect(reached).toEqual([{ n: 2 }]);
      await eventually(async () => {
        const rows = await world.server.query<{ n: number }>(
          `SELECT count(*)::int AS n FROM run WHERE status = 'queued'`,
        );
        expect(rows).toEqual([{ n: 0 }]);
      });
      for (let turn = 0; turn < 3; turn += 1) expect(await dispatchMs(world)).toBeLessThan(2_000);
    });
  });
});
