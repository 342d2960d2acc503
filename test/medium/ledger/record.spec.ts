import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { collect } from '../../support/events.ts';
import { RestClient } from '../../support/rest.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, log, output, started } from '../evidence/scene.ts';
import { tell } from '../workers/wire.ts';

const HOUR_MS = 3_600_000;

let scene: Scene;
let other: RunningApp;
beforeAll(async () => {
  scene = await Scene.open();
  other = await startApp({ database: scene.app.database });
});
afterAll(async () => {
  await other.stop();
  await scene.close();
});

/** Every audit row that names the run. */
async function auditOf(runId: string): Promise<Json[]> {
  const rows: Json[] = await scene.get('/api/v1/audit?order=asc&q=run.&limit=200');
  return rows.filter((row) => JSON.stringify(row.detail).includes(runId));
}

const cancel = (runId: string) => scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key, body: {} });

/** Everything that a run shows, section by section. */
async function sections(runId: string): Promise<Json> {
  const paths = ['', '/events', '/spans', '/artifacts'];
  const [run, events, spans, artifacts] = await Promise.all(
    paths.map((path) => scene.get(`/api/v1/runs/${runId}${path}`)),
  );
  const span = await scene.get(`/api/v1/runs/${runId}/spans/${spans[0].span_id}`);
  const artifact = await scene.get(`/api/v1/runs/${runId}/artifacts/${artifacts[0].artifact_id ?? artifacts[0].id}`);
  const stream = (await collect(scene.rest.runStream(runId))).map(({ id, event, data }) => ({ id, event, data }));
  return { run, events, spans, artifacts, span, artifact, stream };
}

/** A run with something in each of its sections, which has ended. */
async function wholeRun(worker: StubWorker): Promise<string> {
  const runId = await scene.running(worker);
  const message = { event_type: 'message.created', role: 'assistant', content: 'hello' };
  await worker.send(runId, [log('a line'), started('s'), ended('s'), message, log('x'.repeat(100_000))]);
  await worker.complete(runId, { text: 'end' });
  return runId;
}

describe('a run', () => {
  it('K-16: is in the database before its worker has said anything, under the id that the caller gets', async () => {
    const worker = await scene.worker();
    const answering = scene.rest.invoke<{ run_id: string }>(worker.handle, { input: { a: 1 } });
    const rows = async () =>
      scene.app.database.query<{ id: string; status: string }>(
        'SELECT id, status FROM run WHERE agent_id = (SELECT id FROM agent WHERE handle = $1)',
        [worker.handle],
      );
    let queued = await rows();
    while (queued.length === 0) queued = await rows();
    expect(queued).toMatchObject([{ status: 'queued' }]);
    const job = await worker.serve();
    expect(job.run_id).toBe(queued[0]?.id);
    expect((await answering).body.run_id).toBe(queued[0]?.id);
  });

  it('K-20: that has ended is read whole, section by section, when its worker is gone for good', async () => {
    const worker = await scene.worker();
    const runId = await wholeRun(worker);
    const before = await sections(runId);
    expect(before.run.messages).toHaveLength(1);
    await scene.app.call('DELETE', `/api/v1/agents/${worker.handle}/token`, { key: scene.key });
    await scene.app.database.query('DELETE FROM worker WHERE id = $1', [worker.id]);
    expect(await sections(runId)).toEqual(before);
  });

  it('K-70: leaves its audit rows when its evidence, and then the run itself, is gone', async () => {
    const worker = await scene.worker();
    const [runId, cancelled] = [await wholeRun(worker), await scene.queue(worker)];
    await cancel(cancelled);
    const before = [await auditOf(runId), await auditOf(cancelled)];
    expect(before.map((rows) => rows.map(({ action }: { action: string }) => action))).toEqual([
      ['run.create'],
      ['run.create', 'run.cancel'],
    ]);
    for (const table of ['run_log', 'run_span', 'artifact'])
      await scene.app.database.query(`DELETE FROM ${table} WHERE run_id = $1`, [runId]);
    expect(await scene.events(runId)).toEqual([]);
    await scene.app.database.query('DELETE FROM run WHERE id = ANY ($1)', [[runId, cancelled]]);
    expect((await scene.app.call('GET', `/api/v1/runs/${runId}`, { key: scene.key })).status).toBe(404);
    expect([await auditOf(runId), await auditOf(cancelled)]).toEqual(before);
  });

  it('D-17: keeps structured output with a text and without one, and its usage', async () => {
    const worker = await scene.worker();
    const usage = { input_tokens: 2, output_tokens: 3, total_tokens: 5 };
    for (const result of [{ rows: [1, { deep: null }] }, { text: 'three rows', rows: [1] }, {}]) {
      const runId = await scene.running(worker);
      await worker.complete(runId, result, { usage });
      expect(await scene.run(runId)).toMatchObject({ status: 'succeeded', output: result, usage });
    }
  });

  it('D-22: says through which entry it came, and for whom', async () => {
    const worker = await scene.worker();
    const entries = [
      () => scene.rest.call('POST', '/api/v1/runs', { body: { agent_id: worker.handle } }),
      () => scene.rest.invoke(worker.handle, {}),
      () => collect(scene.rest.invokeStream(worker.handle)),
    ];
    const seen: Json[] = [];
    for (const enter of entries) {
      const entering = enter();
      const { run_id: runId, origin } = await worker.serve();
      await entering;
      seen.push({ origin, transport: (await scene.run(runId)).transport });
      expect((await scene.run(runId)).origin).toEqual(origin);
    }
    expect(seen.map(({ origin }) => origin)).toEqual(Array.from({ length: 3 }, () => ({ kind: 'rest', id: null })));
    expect(new Set(seen.map(({ transport }) => transport)).size).toBe(3);
  });

  it('F-35: is read on every replica from the moment it is answered', async () => {
    const worker = await scene.worker();
    for (let round = 0; round < 20; round += 1) {
      const runId = await scene.queue(worker);
      expect((await other.call('GET', `/api/v1/runs/${runId}`, { key: scene.key })).json.run_id).toBe(runId);
      await other.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key, body: {} });
      expect((await scene.run(runId)).status).toBe('cancelled');
    }
  });
});

describe('times', () => {
  it.each([-HOUR_MS, HOUR_MS])('U-24: of a worker whose clock is off by %i ms decide nothing', async (offset) => {
    const worker = await scene.worker();
    const theirs = () => new Date(Date.now() + offset).toISOString();
    const near = (at: string) => expect(Math.abs(Date.parse(at) - Date.now())).toBeLessThan(30_000);
    const runId = await scene.queue(worker);
    await tell(worker, 'pong', { nonce: 'x.1', ping_sent_at: theirs(), sent_at: theirs() });
    expect((await worker.claimSoon()).run_id).toBe(runId);
    await worker.start(runId, { started_at: theirs() });
    const backwards = [3_000, 2_000, 1_000].map((early) => new Date(Date.now() + offset - early).toISOString());
    await worker.send(
      runId,
      backwards.toReversed().map((timestamp, index) => log(`line ${index}`, { timestamp })),
    );
    await worker.send(runId, [log('line 3', { timestamp: theirs() })]);
    await worker.complete(runId, {}, { finished_at: theirs() });

    const { instances, status, presence } = await scene.get(`/api/v1/agents/${worker.handle}`);
    expect([status, instances[0].is_online]).toEqual(['online', true]);
    near(presence.last_seen_at);
    const run = await scene.run(runId);
    const steps: string[] = [run.created_at, run.claimed_at, run.started_at, run.finished_at];
    for (const at of steps) near(at);
    expect(steps).toEqual(steps.toSorted());
    const events = await scene.events(runId);
    expect(events.map(({ content }: { content: string }) => content)).toEqual(['line 0', 'line 1', 'line 2', 'line 3']);
    expect(events.slice(0, 3).map(({ timestamp }: { timestamp: string }) => timestamp)).toEqual(backwards.toReversed());
    for (const { received_at } of events) near(received_at);
  });
});

describe('races', () => {
  it('U-26: a thousand cancels against a thousand reports have one winner each, and the audit agrees', async () => {
    const workers = await Promise.all(Array.from({ length: 10 }, () => scene.worker()));
    const wins = { succeeded: 0, cancelled: 0 };
    const rounds = async (worker: StubWorker): Promise<void> => {
      for (let round = 0; round < 100; round += 1) {
        const runId = await scene.running(worker);
        const cancelling = pause(Math.random() * 4).then(() => cancel(runId));
        const [report, answer] = await Promise.all([worker.complete(runId, { round }), cancelling]);
        const winner = report.payload.accepted ? 'succeeded' : 'cancelled';
        wins[winner] += 1;
        expect([report.payload.status, answer.json.status]).toEqual([winner, winner]);
      }
    };
    await Promise.all(workers.map(rounds));
    expect(wins.succeeded + wins.cancelled).toBe(1_000);
    expect(Math.min(wins.succeeded, wins.cancelled)).toBeGreaterThan(0);
    const rows = await scene.app.database.query<{ status: string; changed: string; count: number }>(
      `SELECT run.status, audit_entry.detail ->> 'changed' AS changed, count(*)::int
         FROM run JOIN audit_entry ON target_id = run.id AND action = 'run.cancel'
        WHERE agent_id IN (SELECT id FROM agent WHERE handle = ANY ($1)) GROUP BY 1, 2 ORDER BY 1`,
      [workers.map(({ handle }) => handle)],
    );
    expect(rows).toEqual([
      { status: 'cancelled', changed: 'true', count: wins.cancelled },
      { status: 'succeeded', changed: 'false', count: wins.succeeded },
    ]);
  }, 240_000);

  it('U-22: a hundred readers on two replicas that come during a burst all read the stored sequence', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const elsewhere = new RestClient(other.url, scene.key);
    const readers: Promise<unknown[]>[] = [];
    const read = async (rest: RestClient) =>
      (await collect(rest.runStream(runId))).map(({ id, event, data }) => ({ id, event, data }));
    for (let batch = 0; batch < 50; batch += 1) {
      readers.push(read(scene.rest), read(elsewhere));
      await Promise.all([
        worker.send(runId, [log(`line ${batch}`), output(`text ${batch}`)]),
        pause(Math.random() * 10),
      ]);
    }
    await worker.complete(runId, { text: 'text 49' });
    const whole = await read(scene.rest);
    expect(whole.length).toBeGreaterThan(100);
    for (const reader of readers) expect(await reader).toEqual(whole);
  }, 40_000);
});
