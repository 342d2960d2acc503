import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { POKE_CHANNEL } from '../../../src/platform/bus/keys.ts';
import { Replica } from '../../../src/platform/replica/replica.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

const HANDLE = 'echo';
/** So long that nothing here is found by a sweep: what is heard was poked. */
const RARELY = { SIGNALBOX_SWEEP_SECONDS: '60' };

let one: RunningApp;
let two: RunningApp;
let key: string;
let worker: StubWorker;
let listener: pg.Client;
const notified: string[] = [];
beforeAll(async () => {
  one = await startApp({ env: RARELY });
  two = await startApp({ env: RARELY, database: one.database });
  ({ key } = await one.account());
  worker = await startStub(two, key, { handle: HANDLE });
  await worker.open();
  while ([one, two].some(({ nest }) => nest.get(Replica).isAlone)) await sleep(20);
  listener = new pg.Client({ connectionString: one.database.url });
  await listener.connect();
  listener.on('notification', ({ payload }) => void notified.push(payload ?? ''));
  await listener.query(`LISTEN ${POKE_CHANNEL}`);
});
afterAll(async () => {
  worker.close();
  await listener.end();
  await two.stop();
  await one.stop();
});

const order = (more: object = {}) => one.call('POST', '/api/v1/runs', { key, body: { agent_id: HANDLE, ...more } });

describe('between two replicas', () => {
  it('F-1: work with 1 MB of input and 9 kB of labels goes from one to the other, and notifications hold ids only', async () => {
    const planted = 'planted-in-the-input';
    const input = { prompt: planted, filler: 'ü'.repeat(512 * 1024) };
    const metadata = { label: planted.padEnd(9_000, '.') };
    const { status, json } = await order({ input, metadata });
    expect([status, json.detail]).toEqual([200, undefined]);
    await worker.hears('work_available', 2_000);
    const job = await worker.serve({ text: planted });
    expect(job).toMatchObject({ run_id: json.run_id, input });
    expect((await one.call('GET', `/api/v1/runs/${json.run_id}`, { key })).json).toMatchObject({
      status: 'succeeded',
      metadata,
    });
    expect(notified.length).toBeGreaterThan(0);
    for (const payload of notified) {
      expect(Buffer.byteLength(payload)).toBeLessThan(1_000);
      expect(payload).not.toContain(planted);
    }
  });

  it('F-34: work is known again within two seconds after the listening connections were ended', async () => {
    await one.database.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'signalbox: bus' AND datname = current_database()`,
    );
    const meanwhile = await order();
    expect((await worker.claimSoon()).run_id).toBe(meanwhile.json.run_id); // the next poll hands it out
    await worker.start(meanwhile.json.run_id);
    await worker.complete(meanwhile.json.run_id, {});
    await sleep(2_000);
    worker.heard.length = 0;
    const { json } = await order();
    await worker.hears('work_available', 2_000);
    expect((await worker.claimSoon()).run_id).toBe(json.run_id);
  });
});
