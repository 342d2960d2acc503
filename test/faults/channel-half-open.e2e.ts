import { describe, expect, it, jest } from '@jest/globals';
import { patience, scaled } from '../support/faults/factor.ts';
import { WorkerProxy } from '../support/faults/worker-proxy.ts';
import { inWorld, type World } from '../support/faults/world.ts';
import { eventually } from '../support/rest.ts';

jest.setTimeout(patience(600));

/** No channel is called dark sooner, whatever its pings. */
const SOONEST_DARK_MS = 12_000;

interface WorkerRow {
  readonly worker_id: string;
  readonly lights: { readonly channel: { readonly state: string } };
}

interface Explanation {
  readonly candidates: readonly { readonly worker_id: string; readonly reason: { readonly code: string } | null }[];
}

async function channelLight({ rest }: World, workerId: string): Promise<string | undefined> {
  const workers = await rest.ask<WorkerRow[]>('GET', '/api/v1/workers');
  return workers.find((worker) => worker.worker_id === workerId)?.lights.channel.state;
}

/** A world with one worker behind a proxy that drops what comes down its channel, and a light that has gone dark. */
async function halfOpen(startAfterMs: number, work: (world: World, deafId: string) => Promise<void>): Promise<void> {
  await inWorld({}, async (world) => {
    const proxy = await WorkerProxy.before(() => [world.server.url]);
    try {
      const deaf = await world.startWorker({ url: proxy.url, startAfterMs, silenceSeconds: 600 });
      await eventually(async () => expect(await channelLight(world, deaf.id)).toBe('ok'));
      proxy.isHalfOpen = true;
      await work(world, deaf.id);
    } finally {
      await proxy.close();
    }
  });
}

describe('F-26: a worker’s channel is dead in one direction, while its own requests pass', () => {
  it('its light is dark within 20 s, explain says so, and each run is done once', async () => {
    await halfOpen(0, async (world, deafId) => {
      const before = performance.now();
      await eventually(async () => expect(await channelLight(world, deafId)).toBe('down'), {
        within: scaled(60) + 20_000,
      });
      expect(performance.now() - before).toBeLessThan(Math.max(scaled(20), SOONEST_DARK_MS) + 5_000);
      await world.startWorker();
      await world.rest.ask('POST', `/api/v1/agents/${world.handle}/queue/pause`, { body: {} });
      const load = world.load({ total: 20, clients: 2 });
      await load.finished();
      const [runId] = load.accepted;
      const { candidates } = await world.rest.ask<Explanation>('GET', `/api/v1/runs/${runId}/explain`);
      const ofDeaf = candidates.find((candidate) => candidate.worker_id === deafId);
      expect(ofDeaf?.reason).toMatchObject({ code: 'worker.channel_stale' });
      await world.rest.ask('POST', `/api/v1/agents/${world.handle}/queue/resume`, { body: {} });
      expect(await world.audit(load)).toMatchObject({ runs: 20, succeeded: 20, entries: 20 });
    });
  });

  it('what it claimed and does not start goes to another', async () => {
    await halfOpen(scaled(2_000), async (world) => {
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(async () =>
        expect(await world.server.query('SELECT status FROM run')).toEqual([{ status: 'claimed' }]),
      );
      await world.startWorker();
      expect(await world.audit(load, { withinSeconds: 120 })).toMatchObject({ succeeded: 1, entries: 1 });
      expect(await world.server.query('SELECT attempt FROM run')).toEqual([{ attempt: 2 }]);
    });
  });
});
