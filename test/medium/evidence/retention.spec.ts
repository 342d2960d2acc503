import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EvidenceRetentionSweep } from '../../../src/evidence/retention/retention.sweep.ts';
import { EVIDENCE_TABLES } from '../../../src/platform/db/partitions.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { startStub } from '../../support/stub-worker.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { log } from './scene.ts';

interface Tenant {
  readonly id: string;
  readonly key: string;
  readonly worker: StubWorker;
}

let app: RunningApp;
let short: Tenant;
let forever: Tenant;
beforeAll(async () => {
  app = await startApp();
  [short, forever] = [await tenant('short'), await tenant('forever')];
  const retention = { evidence_days: 10, runs_days: 20 };
  const { status } = await app.call('PATCH', '/api/v1/account/settings', { key: short.key, body: { retention } });
  expect(status).toBe(200);
});
afterAll(() => app.stop());

async function tenant(handle: string): Promise<Tenant> {
  const { accountId: id, key } = await app.account();
  return { id, key, worker: await startStub(app, key, { handle }) };
}

const dayBack = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
const sweep = () => app.nest.get(EvidenceRetentionSweep).run();
const read = async ({ key }: Tenant, path: string) => app.call('GET', `/api/v1/runs/${path}`, { key });

/** A run with evidence, as if it had been made so many days ago. */
async function runOf({ key, worker }: Tenant, days: number, ends = true): Promise<string> {
  const { json } = await app.call('POST', '/api/v1/runs', { key, body: { agent_id: worker.handle, input: {} } });
  await worker.claimSoon();
  await worker.start(json.run_id);
  await worker.send(json.run_id, [
    log('said'),
    { event_type: 'span.started', span_id: 'one', kind: 'tool', name: 'tool' },
  ]);
  if (ends) await worker.complete(json.run_id, { text: 'done' });
  await age(json.run_id, dayBack(days));
  return json.run_id;
}

async function age(runId: string, day: string): Promise<void> {
  const { database } = app;
  for (const table of EVIDENCE_TABLES) {
    await database.query(`SELECT make_evidence_partition($1, $2::date)`, [table, day]);
    await database.query(`UPDATE ${table} SET day = $2::date WHERE run_id = $1`, [runId, day]);
  }
  const text = `UPDATE run SET day = $2::date, created_at = $2::date + interval '12 hours' WHERE id = $1`;
  await database.query(text, [runId, day]);
}

async function partitionsOf(day: string): Promise<string[]> {
  const names = EVIDENCE_TABLES.map((table) => `${table}_${day.replaceAll('-', '')}`);
  const rows = await app.database.query<{ relname: string }>('SELECT relname FROM pg_class WHERE relname = ANY ($1)', [
    names,
  ]);
  return rows.map(({ relname }) => relname);
}

async function rowsOf(runId: string): Promise<number> {
  const counts = EVIDENCE_TABLES.map((table) => `(SELECT count(*) FROM ${table} WHERE run_id = $1)`);
  const [row] = await app.database.query<{ count: number }>(`SELECT (${counts.join(' + ')})::int AS count`, [runId]);
  return row?.count ?? Number.NaN;
}

describe('U-43: evidence and runs are kept as long as their account says', () => {
  it('evidence goes after its days, the run after its own; what another account keeps, or what has not ended, stays', async () => {
    const young = await runOf(short, 5);
    const old = await runOf(short, 15);
    const oldest = await runOf(short, 25);
    const kept = await runOf(forever, 15);
    const ancient = await runOf(forever, 25);
    const live = await runOf(short, 15, false);
    expect(await sweep()).toMatchObject({ runs: 1 });

    expect(await rowsOf(old)).toBe(0);
    expect((await read(short, old)).json).toMatchObject({ run_id: old, status: 'succeeded', output: { text: 'done' } });
    expect((await read(short, `${old}/events`)).json).toEqual([]);
    expect((await read(short, oldest)).status).toBe(404);
    for (const runId of [young, kept, ancient, live]) expect(await rowsOf(runId)).toBeGreaterThan(0);
    for (const runId of [kept, ancient]) expect((await read(forever, `${runId}/events`)).json).toHaveLength(2);
    expect((await read(short, `${live}/events`)).json).toHaveLength(2);
    await short.worker.complete(live, { text: 'at last' });
    expect((await read(short, live)).json).toMatchObject({ status: 'succeeded' });
    expect(await sweep()).toMatchObject({ runs: 0 });
    expect(await rowsOf(live)).toBe(0);
  });

  it('whoever watches a run whose record is gone is told so, and how the run ended', async () => {
    const runId = await runOf(short, 16);
    await sweep();
    const { text } = await read(short, `${runId}/stream`);
    const events = [...text.matchAll(/event: (\S+)\ndata: (.*)/g)].map(([, event, data = '']) => ({
      event,
      data: JSON.parse(data),
    }));
    expect(events.map(({ event }) => event)).toEqual([
      ...['gap', 'message.delta', 'message.completed', 'output', 'run.status', 'done'],
    ]);
    expect(events[0]?.data).toEqual({ from: 1, to: expect.any(Number), reason: 'retention' });
    expect(events.at(-1)?.data).toMatchObject({ run_id: runId, status: 'succeeded' });
  });

  it('a day of which nobody keeps anything is dropped whole, also where somebody was killed over it', async () => {
    const [whole, torn] = [dayBack(40), dayBack(41)];
    await runOf(short, 40);
    const runId = await runOf(short, 41);
    const name = torn.replaceAll('-', '');
    await app.database.query(`ALTER TABLE run_log DETACH PARTITION run_log_${name}`);
    await app.database.query(`DROP TABLE run_span_${name}`);
    expect(await sweep()).toMatchObject({ partitions: 2 * EVIDENCE_TABLES.length - 1, rows: 0, runs: 2 });
    expect([...(await partitionsOf(whole)), ...(await partitionsOf(torn))]).toEqual([]);
    expect((await read(short, runId)).status).toBe(404);
  });

  it('two replicas at once do it once', async () => {
    await runOf(short, 45);
    const reports = await Promise.all([sweep(), sweep()]);
    expect(reports.map(({ runs = 0 }) => runs).toSorted()).toEqual([0, 1]);
    expect(await partitionsOf(dayBack(45))).toEqual([]);
  });

  it('an audit row about a run outlives it', async () => {
    const runId = await runOf(short, 50);
    await app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: short.key });
    await sweep();
    expect((await read(short, runId)).status).toBe(404);
    const text = 'SELECT action FROM audit_entry WHERE account_id = $1 AND target_id = $2';
    expect(await app.database.query(text, [short.id, runId])).toContainEqual({ action: 'run.cancel' });
  });
});
