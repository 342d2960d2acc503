import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { RunMoves } from '../../../src/runs/index.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let other: RunningApp;
let key: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_SWEEP_SECONDS: '0.2' } });
  other = await startApp({ database: app.database, env: { SIGNALBOX_SWEEP_SECONDS: '0.2' } });
  ({ key } = await app.account());
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const stub = (handle = `agent-${(handles += 1)}`, base: RunningApp = app): Promise<StubWorker> =>
  startStub(base, key, { handle });
const queue = async (handle: string, base: RunningApp = app): Promise<string> =>
  (await base.call('POST', '/api/v1/runs', { key, body: { agent_id: handle } })).json.run_id;
const get = async (runId: string, base: RunningApp = app) =>
  (await base.call('GET', `/api/v1/runs/${runId}`, { key })).json;
const cancel = (runId: string) => app.call('POST', `/api/v1/runs/${runId}/cancel`, { key, body: { reason: 'enough' } });

describe('a claim', () => {
  it('N-50: is the only assignment: fifty claimers of two replicas take two hundred runs, each once', async () => {
    const first = await stub();
    const workers = [
      first,
      ...(await Promise.all(
        Array.from({ length: 49 }, (_, index) =>
          startStub(index % 2 ? app : other, key, { handle: first.handle, token: first.token }),
        ),
      )),
    ];
    const runs = new Set(
      await Promise.all(Array.from({ length: 200 }, (_, index) => queue(first.handle, index % 2 ? app : other))),
    );
    const taken: string[] = [];
    await Promise.all(
      workers.map(async (worker) => {
        for (let idle = 0; idle < 3 && taken.length < 200;) {
          const job = await worker.claim();
          if (!job) {
            idle += 1;
            await pause(100);
            continue;
          }
          idle = 0;
          taken.push(job.run_id);
          await worker.start(job.run_id);
          await worker.complete(job.run_id, {});
        }
      }),
    );
    expect(taken).toHaveLength(200);
    expect(new Set(taken)).toEqual(runs);
    expect(
      await app.database.query(`SELECT status, attempt, count(*)::int FROM run WHERE id = ANY ($1) GROUP BY 1, 2`, [
        taken,
      ]),
    ).toEqual([{ status: 'succeeded', attempt: 1, count: 200 }]);
  }, 60_000);

  it('N-50: asked eight times at once by a worker of one slot answers each, and leaves it holding one run', async () => {
    const worker = await stub();
    for (const _ of [1, 2, 3]) await queue(worker.handle);
    const answers = await Promise.all(Array.from({ length: 8 }, () => worker.frame('run_claim')));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(answers.some(({ payload }) => payload.job !== undefined)).toBe(true);
    const rows = await app.database.query(
      'SELECT status, count(*)::int FROM run WHERE agent_id = (SELECT id FROM agent WHERE handle = $1) GROUP BY 1 ORDER BY 1',
      [worker.handle],
    );
    expect(rows).toEqual([
      { status: 'claimed', count: 1 },
      { status: 'queued', count: 2 },
    ]);
  });

  it('is answered 200 with an empty assignment when there is nothing', async () => {
    const worker = await stub();
    expect(await worker.frame('run_claim')).toMatchObject({ status: 200, type: 'run_assignment', payload: {} });
  });

  it('costs no statement while the agent has no live run, and asks again at once when one is queued', async () => {
    const worker = await stub();
    await worker.claim();
    const moves = app.nest.get(RunMoves);
    const ask = moves.claim.bind(moves);
    let asked = 0;
    moves.claim = (...question) => {
      asked += 1;
      return ask(...question);
    };
    for (let index = 0; index < 50; index += 1) await worker.claim();
    moves.claim = ask;
    expect(asked).toBeLessThan(5); // an empty answer is believed for two seconds
    const runId = await queue(worker.handle);
    expect((await worker.claim()).run_id).toBe(runId);
  });

  it('D-2, D-8, U-60: hands over input and the ids that tie run, origin and request together', async () => {
    const worker = await stub();
    const headers = {
      'x-request-id': 'request-from-outside-1',
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    const run = (
      await app.call('POST', '/api/v1/runs', {
        key,
        body: { agent_id: worker.handle, input: { a: { b: [1] } } },
        headers,
      })
    ).json;
    const job = await worker.claim();
    expect(job).toEqual({
      run_id: run.run_id,
      agent_id: run.agent_id,
      input: { a: { b: [1] } },
      secrets: { AGENTOPS_MCP_TOKEN: expect.stringMatching(/^srt_/) },
      event_id: run.event_id,
      attempt: 1,
      thread_id: run.thread_id,
      parent_run_id: null,
      origin: { kind: 'rest', id: null },
      request_id: 'request-from-outside-1',
      traceparent: headers.traceparent,
      deadline: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    const [audit] = (await app.call('GET', '/api/v1/audit?request_id=request-from-outside-1', { key })).json;
    expect(audit).toMatchObject({ action: 'run.create', status: 'success', detail: { run_id: run.run_id } });
  });

  it('A5: of a worker that holds a claimed run offers that run again, five times at most', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    for (let attempt = 1; attempt <= 5; attempt += 1)
      expect(await worker.claim()).toMatchObject({ run_id: runId, attempt });
    expect(await worker.claim()).toBeUndefined();
    expect(await get(runId)).toMatchObject({ status: 'failed', error: expect.stringMatching(/^undeliverable:/) });
  });

  it('A5: of a worker that holds a running run fails that run as lost, and hands out the next', async () => {
    const worker = await stub();
    const lost = await queue(worker.handle);
    await worker.claim();
    await worker.start(lost);
    const next = await queue(worker.handle);
    expect((await worker.claim()).run_id).toBe(next);
    expect(await get(lost)).toMatchObject({ status: 'failed', error: expect.stringMatching(/^worker_lost:/) });
  });
});

describe('a report', () => {
  it('U-8, K-17: after the end changes nothing, is declined and kept', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    await worker.claim();
    await worker.start(runId);
    await worker.complete(runId, { n: 1 });
    expect((await worker.fail(runId, 'too late')).payload).toMatchObject({ accepted: false, status: 'succeeded' });
    expect((await worker.start(runId)).payload).toMatchObject({ accepted: false, status: 'succeeded' });
    expect(await get(runId)).toMatchObject({ status: 'succeeded', output: { n: 1 }, error: null });
    expect(await app.database.query('SELECT kind, why FROM late_evidence WHERE run_id = $1', [runId])).toEqual([
      { kind: 'terminal', why: 'after_end' },
    ]);
    expect((await app.call('GET', `/api/v1/audit?target=${runId}&status=failure`, { key })).json[0]).toMatchObject({
      action: 'run.stale_report',
      detail: { outcome: 'refused' },
    });
  });

  it('the same terminal frame gets the same answer, on every replica', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    await worker.claim();
    await worker.start(runId);
    const envelope = { id: `msg_${runId}`, needsReply: true };
    const first = await worker.fail(runId, 'boom');
    expect(first.payload).toEqual({ run_id: runId, accepted: true, status: 'failed', worker_id: worker.id });
    const second = await queue(worker.handle);
    await worker.claim();
    for (let time = 0; time < 3; time += 1) {
      expect((await worker.complete(second, { n: 1 }, {}, { ...envelope, id: `msg_${second}` })).payload).toEqual({
        run_id: second,
        accepted: true,
        status: 'succeeded',
        worker_id: worker.id,
      });
    }
    expect(await app.database.query('SELECT 1 FROM late_evidence WHERE run_id = $1', [second])).toEqual([]);
  });

  it('D-5, K-8: of another agent’s worker is 404 and leaves the run alone; of another worker of the agent it is declined', async () => {
    const worker = await stub();
    const stranger = await stub();
    const colleague = await startStub(app, key, { handle: worker.handle, token: worker.token });
    const runId = await queue(worker.handle);
    await worker.claim();
    expect(await stranger.complete(runId, {})).toMatchObject({ status: 404, payload: { code: 'run.not_found' } });
    expect(await stranger.complete('run_nowhere', {})).toMatchObject({
      status: 404,
      payload: { code: 'run.not_found' },
    });
    expect((await colleague.start(runId)).payload).toMatchObject({ accepted: false, status: 'claimed' });
    expect((await colleague.complete(runId, {})).payload).toMatchObject({ accepted: false, status: 'claimed' });
    expect((await worker.start(runId)).payload).toMatchObject({ accepted: true, status: 'running' });
  });

  it('a repeated run_started is accepted again', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    await worker.claim();
    expect((await worker.start(runId)).payload.accepted).toBe(true);
    expect((await worker.start(runId)).payload.accepted).toBe(true);
  });

  it('D-17: keeps an output of any size and depth whole, and leaves it out of lists', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    await worker.claim();
    let deep: unknown = 'bottom';
    for (let level = 0; level < 100; level += 1) deep = [deep];
    const output = { text: 'x'.repeat(5_000_000), deep, odd: { ['__proto__']: 1, constructor: 2 } };
    await worker.complete(runId, output, { usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7, model: 'm' } });
    const run = await get(runId);
    expect(run.output.text).toHaveLength(5_000_000);
    expect(run.output.deep).toEqual(deep);
    expect(run.usage).toEqual({ input_tokens: 3, output_tokens: 4, total_tokens: 7, model: 'm' });
    const [listed] = (await app.call('GET', `/api/v1/runs?agent_id=${worker.handle}`, { key })).json;
    expect(listed).toMatchObject({ run_id: runId, output: null, output_truncated: true });
  });
});

describe('cancel', () => {
  it('is exact while the run is queued, and says nothing more of a run that has ended', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    expect((await cancel(runId)).json).toMatchObject({ status: 'cancelled', worker_id: null });
    expect(await worker.claim()).toBeUndefined();
    expect(await cancel(runId)).toMatchObject({ status: 200, json: { status: 'cancelled' } });
    expect((await app.call('POST', '/api/v1/runs/run_none/cancel', { key })).status).toBe(404);
  });

  it('reaches the worker, also one that hangs on another replica, and is repeated until the worker answers', async () => {
    const worker = await stub();
    const runId = await queue(worker.handle);
    await worker.claim();
    await worker.start(runId);
    expect((await cancel(runId)).json.status).toBe('cancelled');
    const elsewhere = await startStub(other, key, { handle: worker.handle, token: worker.token, workerId: worker.id });
    for (let time = 0; time < 2; time += 1) {
      await elsewhere.open();
      expect((await elsewhere.hears('cancel')).payload).toEqual({ run_id: runId });
    }
    expect((await elsewhere.fail(runId, 'cancelled by the control plane')).payload).toMatchObject({
      accepted: false,
      status: 'cancelled',
    });
    elsewhere.heard.length = 0;
    await elsewhere.open();
    await elsewhere.hears('ping', 7_000);
    expect(elsewhere.heard.filter(({ type }) => type === 'cancel')).toEqual([]);
    expect((await get(runId)).status).toBe('cancelled');
    elsewhere.close();
  });

  it('U-26: races with the worker’s report: one winner, and the audit agrees', async () => {
    const worker = await stub();
    for (let round = 0; round < 40; round += 1) {
      const runId = await queue(worker.handle);
      await worker.claim();
      const [report, answer] = await Promise.all([worker.complete(runId, { round }), cancel(runId)]);
      const { status } = await get(runId);
      expect(status).toBe(report.payload.accepted ? 'succeeded' : 'cancelled');
      expect(answer.json.status).toBe(status);
      const [row] = (await app.call('GET', `/api/v1/audit?target=${runId}`, { key })).json.filter(
        ({ action }: { action: string }) => action === 'run.cancel',
      );
      expect(row.detail.changed).toBe(status === 'cancelled');
    }
  }, 60_000);
});

describe('a doorbell', () => {
  it('K-23, K-24: follows an invoke at another replica within a second, one for one run', async () => {
    const worker = await stub(undefined, other);
    await worker.open();
    await worker.claim();
    const runId = await queue(worker.handle, app);
    await worker.hears('work_available', 2_000);
    expect((await worker.claim()).run_id).toBe(runId);
    await pause(600);
    expect(worker.heard.filter(({ type }) => type === 'work_available')).toEqual([]);
    worker.close();
  });

  it('is rung again by the sweep when it was lost, and after a new channel', async () => {
    const worker = await stub();
    await queue(worker.handle);
    await worker.open();
    await worker.hears('work_available');
    await worker.hears('work_available', 5_000); // nobody claimed
    worker.close();
  });

  it('K-29: is not rung for a worker that is busy', async () => {
    const worker = await stub();
    await worker.open();
    const runId = await queue(worker.handle);
    await worker.hears('work_available');
    await worker.claim();
    await worker.start(runId);
    worker.heard.length = 0;
    await queue(worker.handle);
    await pause(1_500);
    expect(worker.heard.filter(({ type }) => type === 'work_available')).toEqual([]);
    await worker.complete(runId, {});
    await worker.claimSoon();
    worker.close();
  });
});
