import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { call, type Json } from '../support/app.ts';
import { joinDeltas, type StreamEvent } from '../support/events.ts';
import { RestClient, eventually } from '../support/rest.ts';
import { startServer, type RunningServer } from '../support/server.ts';
import { startStub, type StubWorker } from '../support/stub-worker.ts';

jest.setTimeout(120_000); // starts and kills on a busy machine

/** So long that nothing is found by a sweep: what is quick here went from one replica to the other. */
const ENV = { SIGNALBOX_SWEEP_SECONDS: '60' };

let a: RunningServer;
let b: RunningServer;
let atA: RestClient;
let atB: RestClient;
const workers: StubWorker[] = [];

beforeAll(async () => {
  a = await startServer({ env: ENV });
  b = await startServer({ env: ENV, database: a.databaseUrl });
  atA = new RestClient(a.url, a.key);
  atB = new RestClient(b.url, b.key);
  await sleep(1_500); // each has seen the other's row
});
afterEach(() => {
  for (const worker of workers.splice(0)) worker.close();
});
afterAll(async () => {
  await b.stop();
  await a.stop();
});

/** A worker whose channel is on `replica`. */
async function workerOn(replica: RunningServer, handle: string, token?: string): Promise<StubWorker> {
  const place = { url: replica.url, call: (...asked: Asked) => call(replica.url, ...asked) };
  const worker = await startStub(place, replica.key, { handle, ...(token === undefined ? {} : { token }) });
  workers.push(worker);
  expect((await worker.open()).status).toBe(200);
  expect(await worker.claim()).toBeUndefined();
  return worker;
}

type Asked = Parameters<typeof call> extends [string, ...infer Rest] ? Rest : never;

interface Run {
  readonly run_id: string;
  readonly status: string;
}

const order = (handle: string) => atA.ask<Run>('POST', '/api/v1/runs', { body: { agent_id: handle } });
const statusAt = async (rest: RestClient, runId: string) =>
  (await rest.ask<Run>('GET', `/api/v1/runs/${runId}`)).status;
const isOpen = async (worker: StubWorker): Promise<boolean> => (await rowOf(worker))?.is_open ?? false;

async function rowOf({ id }: StubWorker): Promise<{ is_open: boolean; channel_replica: string | null } | undefined> {
  const [row] = await a.query<{ is_open: boolean; channel_replica: string | null }>(
    `SELECT channel_opened_at IS NOT NULL AND (channel_closed_at IS NULL OR channel_closed_at < channel_opened_at) AS is_open, channel_replica
       FROM worker WHERE id = $1`,
    [id],
  );
  return row;
}

describe('two replicas on one database', () => {
  it('F-35: a run is read on the other at once, and a batch that comes twice by two ways counts once', async () => {
    const worker = await workerOn(b, 'read-at-once');
    for (let turn = 0; turn < 20; turn += 1) {
      const { run_id: runId } = await order('read-at-once');
      expect(await statusAt(atB, runId)).not.toBe('');
    }
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    const events = Array.from({ length: 15 }, (_, index) => ({
      event_type: 'log.created',
      event_id: 'evt_of_the_run',
      event_sequence: index + 1,
      content: `line ${index}`,
    }));
    const body = { worker_id: worker.id, events };
    const post = (rest: RestClient) =>
      rest.ask<{ events: number; duplicate: number }>('POST', `/api/v1/runs/${job.run_id}/events`, {
        key: worker.token,
        body,
      });
    expect(await post(atA)).toMatchObject({ events: 15, duplicate: 0 });
    expect(await post(atB)).toMatchObject({ duplicate: 15 });
    expect(await atA.ask<Json[]>('GET', `/api/v1/runs/${job.run_id}/events`)).toHaveLength(15);
    await worker.complete(job.run_id, { text: 'done' });
    for (let left = 1; left < 20; left += 1) await worker.serve();
  });

  it('U-20: what is invoked at A reaches the worker whose channel is on B, and is watched at A to its end', async () => {
    const worker = await workerOn(b, 'far');
    const watched: StreamEvent[] = [];
    const watching = (async () => {
      for await (const event of atA.invokeStream('far', {})) watched.push(event);
    })();
    await worker.hears('work_available', 2_000);
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    await worker.send(job.run_id, [{ event_type: 'output.updated', payload: { text: 'from afar' } }]);
    await worker.complete(job.run_id, { text: 'from afar' });
    await watching;
    expect(joinDeltas(watched)).toContain('from afar');
    expect(watched.at(-1)).toMatchObject({ event: 'done', data: { status: 'succeeded' } });
    expect([await statusAt(atA, job.run_id), await statusAt(atB, job.run_id)]).toEqual(['succeeded', 'succeeded']);
  });

  it('a cancel at A reaches the worker on B within a second', async () => {
    const worker = await workerOn(b, 'cancelled');
    const { run_id: runId } = await order('cancelled');
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    await atA.ask('POST', `/api/v1/runs/${runId}/cancel`, { body: {} });
    expect(await worker.hears('cancel', 1_000)).toMatchObject({ payload: { run_id: runId } });
    expect(await statusAt(atB, runId)).toBe('cancelled');
  });

  it('a token that is revoked at A ends the channel on B, and opens nothing there', async () => {
    const worker = await workerOn(b, 'revoked');
    await atA.ask('DELETE', '/api/v1/agents/revoked/token');
    expect((await worker.frame('run_claim')).status).toBe(401);
    await eventually(async () => expect(await isOpen(worker)).toBe(false), { within: 5_000 });
    expect((await worker.open()).status).toBe(401);
  });
});

describe('F-36: a stream is cut and resumed on the other replica, again and again', () => {
  it('its pieces put together are the stored sequence', async () => {
    const worker = await workerOn(b, 'cut');
    const { run_id: runId } = await order('cut');
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    const sending = (async () => {
      for (let batch = 0; batch < 30; batch += 1) {
        await worker.send(runId, [
          { event_type: 'message.created', content: `part ${batch}` },
          { event_type: 'log.created', content: `line ${batch}` },
        ]);
        await sleep(20);
      }
      await worker.complete(runId, { text: 'done' });
    })();
    const pieces: StreamEvent[] = [];
    for (let cut = 0; pieces.at(-1)?.event !== 'done'; cut += 1) {
      const reader = [atA, atB][cut % 2];
      const lastEventId = pieces.at(-1)?.id;
      let read = 0;
      for await (const event of reader?.runStream(runId, lastEventId === undefined ? {} : { lastEventId }) ?? []) {
        pieces.push(event);
        read += 1;
        if (read > cut % 5) break;
      }
    }
    await sending;
    const whole: StreamEvent[] = [];
    for await (const event of atA.runStream(runId)) whole.push(event);
    const shown = ({ id, event, data }: StreamEvent) => ({ id, event, data });
    expect(pieces.map(shown)).toEqual(whole.map(shown));
    expect(whole.length).toBeGreaterThan(60);
  });
});

describe('U-20: the replica that holds the channel is killed', () => {
  it('the worker reconnects to the other, the next invoke works, and the run in flight ends once', async () => {
    const worker = await workerOn(b, 'moved');
    const { run_id: runId } = await order('moved');
    const job = await worker.claimSoon();
    await worker.start(job.run_id);
    await worker.send(runId, [{ event_type: 'log.created', content: 'before' }]);
    await b.kill('SIGKILL');
    try {
      const again = worker.at(a.url);
      workers.push(again);
      expect((await again.open()).status).toBe(200);
      await again.send(runId, [{ event_type: 'log.created', content: 'after' }]);
      expect((await again.complete(runId, { text: 'done' })).payload).toMatchObject({ accepted: true });
      const answering = atA.invoke<Run>('moved');
      await again.hears('work_available', 5_000);
      await again.serve();
      expect((await answering).body.status).toBe('succeeded');
      const ends = await a.query(
        `SELECT run_id FROM run_log WHERE run_id = $1 AND type = 'run.status' AND event ->> 'status' = 'succeeded'`,
        [runId],
      );
      expect(ends).toHaveLength(1);
      const events = await atA.ask<Json[]>('GET', `/api/v1/runs/${runId}/events`);
      expect(events.map(({ content }) => content)).toEqual(['before', 'after']);
      await eventually(async () => expect(await isOpen(again)).toBe(true));
    } finally {
      await b.restart();
    }
  });
});
