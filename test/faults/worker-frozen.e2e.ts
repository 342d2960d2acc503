import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { FACTOR, patience, scaled } from '../support/faults/factor.ts';
import { inWorld, type World } from '../support/faults/world.ts';
import { eventually } from '../support/rest.ts';

jest.setTimeout(patience(600));

/** A policy names whole seconds, five at least. */
const SILENT_LIMIT = Math.max(5, Math.round(20 * FACTOR));

interface Row {
  readonly status: string;
  readonly attempt: number;
  readonly worker_id: string;
  readonly output: { readonly worker_id?: string } | null;
}

async function onlyRun({ server }: World): Promise<Row | undefined> {
  return (await server.query<Row>('SELECT status, attempt, worker_id, output FROM run'))[0];
}

const within = { within: 60_000 + scaled(120) };

describe('F-28: a worker stands still past the silent limit while another takes its run', () => {
  it('in mid-run: what it sends when it goes on is refused and kept, and state and output are the other’s', async () => {
    const policy = {
      silent_limit_seconds: SILENT_LIMIT,
      retry: { on: ['worker_lost'], max_attempts: 2, backoff_seconds: 0 },
    };
    await inWorld({ policy }, async (world) => {
      const frozen = await world.startWorker({ handlerMs: [1_500, 1_500], batches: 2 });
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(() => expect(world.entries()).toHaveLength(1));
      frozen.signal('SIGSTOP');
      const other = await world.startWorker({ handlerMs: [10, 20] });
      await eventually(async () => expect((await onlyRun(world))?.status).toBe('succeeded'), within);
      frozen.signal('SIGCONT');
      await eventually(async () => {
        const late = await world.server.query<{ kind: string; why: string }>(
          'SELECT DISTINCT kind, why FROM late_evidence WHERE worker_id = $1 ORDER BY kind',
          [frozen.id],
        );
        expect(late.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['event', 'terminal']));
        const ofEvents = late.filter(({ kind }) => kind === 'event').map(({ why }) => why);
        expect(ofEvents).toEqual(['stale_attempt']);
      }, within);
      expect(await onlyRun(world)).toMatchObject({ status: 'succeeded', attempt: 2, worker_id: other.id });
      expect((await onlyRun(world))?.output?.worker_id).toBe(other.id);
      expect(await world.audit(load, { isRetried: true })).toMatchObject({ runs: 1, entries: 2 });
    });
  });

  it('between claim and start: it is offered again, and the late start is refused', async () => {
    const seconds = { OFFER: 20, PRESENCE_WINDOW: 20 };
    await inWorld({ seconds }, async (world) => {
      const frozen = await world.startWorker({ startAfterMs: scaled(10) });
      const load = world.load({ total: 1, clients: 1 });
      await load.finished();
      await eventually(async () => expect((await onlyRun(world))?.status).toBe('claimed'));
      frozen.signal('SIGSTOP');
      const other = await world.startWorker();
      await eventually(async () => expect((await onlyRun(world))?.status).toBe('succeeded'), within);
      frozen.signal('SIGCONT');
      await sleep(scaled(20) + 1_000); // it tries to start what it was once offered
      expect(await onlyRun(world)).toMatchObject({ status: 'succeeded', attempt: 2, worker_id: other.id });
      expect(await world.audit(load)).toMatchObject({ succeeded: 1, entries: 1 });
    });
  });
});
