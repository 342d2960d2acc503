import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { pause, startStub, type StubWorker } from '../../support/stub-worker.ts';

/** The product's waits at a tenth. */
const TENTH = {
  SIGNALBOX_SWEEP_SECONDS: '0.2',
  SIGNALBOX_PRESENCE_WINDOW_SECONDS: '9',
  SIGNALBOX_CLAIM_WINDOW_SECONDS: '5',
  SIGNALBOX_CLOSED_OFFER_SECONDS: '0.6',
  SIGNALBOX_CLOSED_LOST_SECONDS: '1.5',
  SIGNALBOX_OFFER_SECONDS: '9',
  SIGNALBOX_FAILED_OFFER_SECONDS: '0.5',
};

let app: RunningApp;
let other: RunningApp;
let key: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp({ env: TENTH });
  other = await startApp({ database: app.database, env: TENTH });
  ({ key } = await app.account());
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const stub = (handle = `lost-${(handles += 1)}`): Promise<StubWorker> => startStub(app, key, { handle });
const another = (worker: StubWorker): Promise<StubWorker> =>
  startStub(app, key, { handle: worker.handle, token: worker.token });
const queue = async (handle: string): Promise<string> =>
  (await app.call('POST', '/api/v1/runs', { key, body: { agent_id: handle } })).json.run_id;
const get = async (runId: string) => (await app.call('GET', `/api/v1/runs/${runId}`, { key })).json;

/** The policy of an agent, as its operation will write it. */
async function policy(handle: string, columns: Record<string, unknown>): Promise<void> {
  const names = Object.keys(columns);
  await app.database.query(
    `INSERT INTO agent_policy (account_id, agent_id, updated_by, ${names.join(', ')})
     SELECT account_id, id, 'test', ${names.map((_, index) => `$${index + 2}`).join(', ')} FROM agent WHERE handle = $1`,
    [handle, ...Object.values(columns)],
  );
}
const retry = (on: string[], more: object = {}) => ({
  retry: { on, max_attempts: 2, backoff_seconds: 0, factor: 2, max_backoff_seconds: 300, ...more },
});
/** Makes a worker silent for so long, as far as the rows know. */
async function silence(worker: StubWorker, seconds: number, base = app, owner = key): Promise<void> {
  await base.call('GET', `/api/v1/workers/${worker.id}`, { key: owner }); // what was heard is written first
  await app.database.query(
    `UPDATE worker SET last_seen_at = now() - make_interval(secs => $2), last_claim_at = now() - make_interval(secs => $2) WHERE id = $1`,
    [worker.id, seconds],
  );
}
const heardForLong = () => app.database.query(`UPDATE hearing SET since = now() - interval '1 day'`);
async function until(runId: string, status: string, within = 6_000) {
  for (const end = Date.now() + within; ; await pause(50)) {
    const run = await get(runId);
    if (run.status === status) return run;
    if (Date.now() > end) throw new Error(`${runId} is ${run.status}, not ${status}: ${run.error}`);
  }
}

describe('a worker that is lost', () => {
  it('A4a, U-11: closed its channel before it started: the run is offered to another, with the next attempt and a doorbell', async () => {
    const worker = await stub();
    await worker.open();
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    const second = await another(worker);
    await second.open();
    await pause(200);
    second.heard.length = 0;
    worker.close();
    await second.hears('work_available');
    expect(await second.claimSoon()).toMatchObject({ run_id: runId, attempt: 2 });
    expect((await worker.start(runId)).payload).toMatchObject({ accepted: false });
    expect((await second.start(runId)).payload).toMatchObject({ accepted: true });
    await second.complete(runId, { by: 'second' });
    expect(await get(runId)).toMatchObject({ status: 'succeeded', attempt: 2, output: { by: 'second' } });
  });

  it('F-32, U-13: closed its channel in mid-run: the run fails as worker_lost, and names the rule', async () => {
    const worker = await stub();
    await worker.open();
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    await pause(200);
    worker.close();
    expect(await until(runId, 'failed')).toMatchObject({ error: expect.stringMatching(/^worker_lost: .*channel/) });
    const [row] = await app.database.query<{ end_code: string; end_detail: object }>(
      'SELECT end_code, end_detail FROM run WHERE id = $1',
      [runId],
    );
    expect(row).toMatchObject({ end_code: 'end.worker_lost', end_detail: { rule: 'closed_by_worker', attempt: 1 } });
  });

  it('B-8: is tried again where the policy says so, and no more often than it says', async () => {
    const worker = await stub();
    await policy(worker.handle, retry(['worker_lost']));
    await worker.open();
    const runId = await queue(worker.handle);
    for (const attempt of [1, 2]) {
      const holder = attempt === 1 ? worker : await another(worker);
      if (attempt === 2) await holder.open();
      expect(await holder.claimSoon()).toMatchObject({ run_id: runId, attempt });
      await holder.start(runId);
      await pause(200);
      holder.close();
      if (attempt === 1) await until(runId, 'queued');
    }
    expect(await until(runId, 'failed')).toMatchObject({ attempt: 2, error: expect.stringMatching(/^worker_lost/) });
  });

  it('F-28: is silent for longer than the silent limit; what it says after that is refused and kept', async () => {
    const worker = await stub();
    await policy(worker.handle, { silent_limit_seconds: 20, ...retry(['worker_lost']) });
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    await pause(100);
    await heardForLong();
    await silence(worker, 15);
    await pause(600);
    expect(await get(runId)).toMatchObject({ status: 'running' });
    await silence(worker, 21);
    await until(runId, 'queued');
    const second = await another(worker);
    expect(await second.claimSoon()).toMatchObject({ run_id: runId, attempt: 2 });
    await second.start(runId);
    await worker.send(runId, [{ event_type: 'output.updated', payload: { text: 'mine' } }]);
    expect((await worker.complete(runId, { by: 'first' })).payload).toMatchObject({
      accepted: false,
      status: 'running',
    });
    await second.complete(runId, { by: 'second' });
    expect(await get(runId)).toMatchObject({ status: 'succeeded', output: { by: 'second' } });
    const { json: late } = await app.call('GET', `/api/v1/runs/${runId}/late`, { key });
    const stale = { why: 'stale_attempt', attempt: 1, worker_id: worker.id };
    expect(late).toMatchObject([
      { ...stale, kind: 'event' },
      { ...stale, kind: 'terminal' },
    ]);
  });

  it('A4: is not lost by silence that this deployment could not have heard', async () => {
    const worker = await stub();
    await policy(worker.handle, { silent_limit_seconds: 20 });
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    await pause(100);
    await app.database.query(`UPDATE hearing SET since = now() - interval '10 seconds'`);
    await silence(worker, 100);
    await pause(700);
    expect(await get(runId)).toMatchObject({ status: 'running' });
    await heardForLong();
    await until(runId, 'failed');
  });

  it('paused or of another version keeps no colleague from its claim', async () => {
    const worker = await stub();
    const colleague = await another(worker);
    await app.call('POST', `/api/v1/workers/${worker.id}/actions`, { key, body: { action: 'pause' } });
    await colleague.claim(); // it is known to be free
    for (let index = 0; index < 5; index += 1) {
      const runId = await queue(worker.handle);
      expect(await worker.claim()).toBeUndefined();
      expect(await colleague.claim()).toMatchObject({ run_id: runId });
      await colleague.complete(runId, {});
      await colleague.claim();
    }
  });

  it('hard-parts 1: is free to the next claim, before any sweep', async () => {
    const slow = await startApp({ database: app.database, env: { ...TENTH, SIGNALBOX_SWEEP_SECONDS: '60' } });
    const { key: mine } = await slow.account();
    try {
      const worker = await startStub(slow, mine, { handle: 'claims' });
      const runId = (await slow.call('POST', '/api/v1/runs', { key: mine, body: { agent_id: 'claims' } })).json.run_id;
      await worker.claimSoon();
      await heardForLong();
      await pause(100);
      await silence(worker, 10, slow, mine);
      const second = await startStub(slow, mine, { handle: 'claims', token: worker.token });
      expect(await second.claimSoon()).toMatchObject({ run_id: runId, attempt: 2 });
    } finally {
      await slow.stop();
    }
  });

  it('leaves the run that it did not start to the others for a while', async () => {
    const worker = await stub();
    const second = await another(worker);
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await heardForLong();
    await pause(100);
    await silence(worker, 10);
    await until(runId, 'queued');
    expect(await worker.claim()).toBeUndefined();
    expect(await second.claimSoon()).toMatchObject({ run_id: runId });
  });

  it('is told to stop what nobody waits for, should it come back', async () => {
    const worker = await stub();
    await policy(worker.handle, { silent_limit_seconds: 20 });
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    await heardForLong();
    await pause(100);
    await silence(worker, 21);
    await until(runId, 'failed');
    await worker.open();
    expect(await worker.hears('cancel')).toMatchObject({ payload: { run_id: runId } });
    await worker.fail(runId, 'cancelled by the control plane');
    worker.heard.length = 0;
    await worker.open();
    await pause(300);
    expect(worker.heard.filter(({ type }) => type === 'cancel')).toEqual([]);
  });
});

describe('a run whose time is over', () => {
  it('K-22: fails as queue_ttl when it waited for longer than its agent’s time to live', async () => {
    const worker = await stub();
    await policy(worker.handle, { queue_ttl_seconds: 1 });
    const runId = await queue(worker.handle);
    expect(await until(runId, 'failed')).toMatchObject({ error: expect.stringMatching(/^queue_ttl: .* 1 s$/) });
  });

  it('U-14: fails as run_limit over all attempts, and its worker is told', async () => {
    const worker = await stub();
    await policy(worker.handle, { run_limit_seconds: 2 });
    await worker.open();
    const runId = await queue(worker.handle);
    const job = await worker.claimSoon();
    expect(Date.parse(job.deadline) - Date.now()).toBeLessThan(2_100);
    await worker.start(runId);
    expect(await until(runId, 'failed')).toMatchObject({ error: expect.stringMatching(/^run_limit: .* 2 s$/) });
    expect(await worker.hears('cancel')).toMatchObject({ payload: { run_id: runId } });
    expect((await worker.complete(runId, { late: true })).payload).toMatchObject({ accepted: false, status: 'failed' });
  });

  it('fails as run_limit while it waits for its next attempt, and is not handed out any more', async () => {
    const worker = await stub();
    await policy(worker.handle, { run_limit_seconds: 1, ...retry(['failed'], { backoff_seconds: 2 }) });
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    expect((await worker.fail(runId, 'no')).payload).toMatchObject({ status: 'queued' });
    expect(await until(runId, 'failed')).toMatchObject({ error: expect.stringMatching(/^run_limit:/), attempt: 1 });
  });
});

describe('a failure that the worker reports', () => {
  it('is tried again after a pause where the policy says so; the same frame again gets the same answer', async () => {
    const worker = await stub();
    await policy(worker.handle, retry(['failed'], { backoff_seconds: 1 }));
    const runId = await queue(worker.handle);
    await worker.claimSoon();
    await worker.start(runId);
    const frame = { needsReply: true, id: 'msg_the_same' };
    const report = { run_id: runId, error: 'ValueError: no' };
    expect((await worker.frame('run_failed', report, frame)).payload).toMatchObject({
      accepted: true,
      status: 'queued',
    });
    expect((await worker.frame('run_failed', report, frame)).payload).toMatchObject({
      accepted: true,
      status: 'queued',
    });
    expect(await worker.claim()).toBeUndefined();
    const before = Date.now();
    expect(await worker.claimSoon()).toMatchObject({ run_id: runId, attempt: 2 });
    expect(Date.now() - before).toBeGreaterThan(300);
    await worker.start(runId);
    expect((await worker.fail(runId, 'ValueError: again')).payload).toMatchObject({ accepted: true, status: 'failed' });
    expect(await get(runId)).toMatchObject({ status: 'failed', error: 'ValueError: again', attempt: 2 });
  });
});

it('A5: a reported failure that was tried again says nothing about the next attempt, however often its frame comes', async () => {
  const worker = await stub();
  await policy(worker.handle, retry(['failed'], { max_attempts: 3 }));
  const runId = await queue(worker.handle);
  const failed = (id: string) => worker.frame('run_failed', { run_id: runId, error: id }, { needsReply: true, id });
  for (const id of ['msg_first', 'msg_second']) {
    await worker.claimSoon();
    await worker.start(runId);
    expect((await failed(id)).payload).toMatchObject({ accepted: true, status: 'queued' });
  }
  await worker.claimSoon();
  for (const id of ['msg_first', 'msg_second'])
    expect((await failed(id)).payload).toMatchObject({ accepted: true, status: 'queued' });
  await worker.start(runId);
  expect((await failed('msg_second')).payload).toMatchObject({ accepted: true, status: 'queued' });
  expect((await worker.complete(runId, { real: 3 })).payload).toMatchObject({ accepted: true, status: 'succeeded' });
  expect((await app.call('GET', `/api/v1/runs/${runId}/late`, { key })).json).toEqual([]);
  const attempts = (await app.call('GET', `/api/v1/runs/${runId}/attempts`, { key })).json;
  expect(attempts.map(({ end, detail }: { end: string; detail: { error?: string } }) => [end, detail.error])).toEqual([
    ['end.failed', 'msg_first'],
    ['end.failed', 'msg_second'],
    ['end.succeeded', undefined],
  ]);
});

it('a failure that overtook the word of its start counts as an attempt', async () => {
  const worker = await stub();
  await policy(worker.handle, retry(['failed'], { max_attempts: 2 }));
  const runId = await queue(worker.handle);
  for (const status of ['queued', 'failed']) {
    await worker.claimSoon();
    expect((await worker.fail(runId, 'no')).payload).toMatchObject({ accepted: true, status });
  }
});

it('what is declined twice is kept once; another answer after a success is kept, and the success stands', async () => {
  const worker = await stub();
  const runId = await queue(worker.handle);
  await worker.claimSoon();
  await worker.start(runId);
  await worker.complete(runId, { text: 'x' });
  const stranger = await another(worker);
  const frame = { needsReply: true, id: 'msg_declined' };
  for (let index = 0; index < 2; index += 1)
    await stranger.frame('run_completed', { run_id: runId, output: {} }, frame);
  expect((await worker.complete(runId, { text: 'y' })).payload).toMatchObject({ accepted: true, status: 'succeeded' });
  const { json: late } = await app.call('GET', `/api/v1/runs/${runId}/late`, { key });
  expect(late).toMatchObject([{ why: 'not_owner' }, { why: 'after_end', report: { output: { text: 'y' } } }]);
});

it('an attempt that no column holds is refused, and names its place', async () => {
  const worker = await stub();
  const runId = await queue(worker.handle);
  for (const attempt of [2_147_483_648, -1, 0, 1.5]) {
    const answer = await worker.complete(runId, {}, { attempt });
    expect([answer.status, answer.payload.detail[0].loc]).toEqual([422, ['body', 'payload', 'attempt']]);
  }
});

describe('a limit', () => {
  it('U-49: of an agent holds against fifty claims at once, on two replicas', async () => {
    const worker = await stub();
    await policy(worker.handle, { max_concurrent_runs: 3 });
    const crew = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        startStub(index % 2 ? app : other, key, { handle: worker.handle, token: worker.token }),
      ),
    );
    await Promise.all(crew.map(() => queue(worker.handle)));
    const jobs = (await Promise.all(crew.map((member) => member.claim()))).filter((job) => job !== undefined);
    expect(jobs).toHaveLength(3);
    expect((await Promise.all(crew.map((member) => member.claim({ holds: [] })))).length).toBe(12);
  });

  it('of an account counts the runs of all its agents', async () => {
    const { key: mine, accountId } = await app.account();
    await app.database.query(
      `INSERT INTO account_settings (account_id, concurrent_runs, updated_by) VALUES ($1, 1, 'test')`,
      [accountId],
    );
    const one = await startStub(app, mine, { handle: 'one' });
    const two = await startStub(app, mine, { handle: 'two' });
    for (const agent_id of ['one', 'two']) await app.call('POST', '/api/v1/runs', { key: mine, body: { agent_id } });
    const job = await one.claim();
    expect(job).toBeDefined();
    expect(await two.claim()).toBeUndefined();
    await one.start(job.run_id);
    await one.complete(job.run_id, {});
    expect(await two.claimSoon()).toBeDefined();
  });
});

it('A6: a worker that nobody registered is asked to register again', async () => {
  const worker = await stub();
  await app.database.query('DELETE FROM worker WHERE id = $1', [worker.id]);
  expect(await worker.frame('run_claim')).toMatchObject({ status: 404, payload: { code: 'worker.not_registered' } });
  await worker.register();
  expect(await worker.frame('run_claim')).toMatchObject({ status: 200, payload: {} });
});

it('A9: a worker that says it is leaving gets nothing more, and is shown as draining', async () => {
  const worker = await stub();
  await queue(worker.handle);
  const held = await worker.claimSoon();
  await queue(worker.handle);
  expect(await worker.claim({ draining: true })).toBeUndefined();
  expect(await get(held.run_id)).toMatchObject({ status: 'queued' }); // it was held and not named
  const shown = (await app.call('GET', `/api/v1/workers/${worker.id}`, { key })).json;
  expect(shown).toMatchObject({ mode: 'draining', excluded_by: 'worker.draining', assignable: false });
  expect(await worker.claim()).toBeUndefined();
});
