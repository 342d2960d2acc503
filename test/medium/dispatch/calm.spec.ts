import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startApp, type RunningApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { StubWorker, pause, startStub } from '../../support/stub-worker.ts';

/** What every claim is answered within. */
/** Two seconds, and what a busy machine takes to notice that they are over. */
const LIMIT_MS = 2_300;
/** The older SDKs give up after it. */
const PATIENCE_MS = 5_000;
/** How long what identity remembers is believed without a look at the database. */
const BELIEVED_MS = 2_000;
const EMPTY = { status: 200, type: 'run_assignment', payload: {} };
/** No use cases, no version: how 0.2.0 registers. */
const OLD = { sdk_version: undefined, agent_card: { name: 'old' } };

let key: string;
let steady: RunningApp;
beforeAll(async () => {
  steady = await startApp();
  ({ key } = await steady.account());
});
afterAll(() => steady.stop());

/** A claim, with the time it took. */
async function timed(worker: StubWorker) {
  const began = performance.now();
  const { status, type, payload } = await worker.frame('run_claim');
  return { answer: { status, type, payload }, milliseconds: performance.now() - began };
}

const queue = async (handle: string, input: object = {}): Promise<string> =>
  (await steady.call('POST', '/api/v1/runs', { key, body: { agent_id: handle, input } })).json.run_id;
const runOf = async (runId: string) => (await steady.call('GET', `/api/v1/runs/${runId}`, { key })).json;

describe('F-28 worker-protocol §23.2: a claim while the database is away', () => {
  let app: RunningApp;
  let proxy: DatabaseProxy;
  let old: StubWorker;
  let young: StubWorker;
  beforeAll(async () => {
    const via = async (url: string): Promise<string> => {
      const opened = await DatabaseProxy.before(url);
      proxy = opened.proxy;
      return opened.url;
    };
    app = await startApp({ database: steady.database, via });
    old = await startStub(app, key, { handle: 'away-old', manifest: OLD });
    young = await startStub(app, key, { handle: 'away-young' });
    for (const worker of [old, young]) expect((await timed(worker)).answer).toEqual(EMPTY);
    await proxy.close();
  });
  afterAll(() => app.stop());

  it.each(['at first', 'when nobody is remembered any more'])(
    'is an empty assignment for SDK 0.2 after a second or two, %s',
    async (when) => {
      if (when !== 'at first') await pause(BELIEVED_MS);
      const runId = await queue(old.handle);
      for (let time = 0; time < 2; time += 1) {
        const { answer, milliseconds } = await timed(old);
        expect(answer).toEqual(EMPTY);
        expect(milliseconds).toBeLessThan(LIMIT_MS);
        if (when !== 'at first') expect(milliseconds).toBeGreaterThan(1_000); // until then memory answers
      }
      expect(await runOf(runId)).toMatchObject({ status: 'queued' });
    },
  );

  it('is 503 with Retry-After, at once, for whoever waits by itself', async () => {
    const began = performance.now();
    const answer = await app.call('POST', `/api/v1/workers/${young.id}/frames`, {
      key: young.token,
      body: { id: 'msg_1', type: 'run_claim', payload: {}, needsReply: true },
    });
    expect([answer.status, answer.json.code]).toEqual([503, 'database.unavailable']);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(performance.now() - began).toBeLessThan(1_000);
  });

  it('is an empty assignment for a worker that nobody here knows', async () => {
    const { answer, milliseconds } = await timed(new StubWorker(app.url, 'swt_never_seen_here', { handle: 'unknown' }));
    expect(answer).toEqual(EMPTY);
    expect(milliseconds).toBeGreaterThan(1_000);
    expect(milliseconds).toBeLessThan(LIMIT_MS);
  });
});

describe('A6: a claim that the database does not answer', () => {
  it('is empty within two seconds while the runs are locked, and leaves the run where it is', async () => {
    const worker = await startStub(steady, key, { handle: 'locked' });
    const runId = await queue(worker.handle);
    const locker = new pg.Client({ connectionString: steady.database.url });
    await locker.connect();
    await locker.query('BEGIN; LOCK TABLE run IN ACCESS EXCLUSIVE MODE');
    try {
      for (let time = 0; time < 2; time += 1) {
        const { answer, milliseconds } = await timed(worker);
        expect(answer).toEqual(EMPTY);
        expect(milliseconds).toBeLessThan(LIMIT_MS);
      }
    } finally {
      await locker.end();
    }
    expect(await runOf(runId)).toMatchObject({ status: 'queued', attempt: 0 });
    expect(await worker.claimSoon()).toMatchObject({ run_id: runId, attempt: 1 });
  });

  it('F-30: is empty within two seconds while the network is silent, and hands out nothing when it comes back', async () => {
    let proxy: DatabaseProxy | undefined;
    const app = await startApp({
      database: steady.database,
      via: async (url) => {
        const opened = await DatabaseProxy.before(url);
        proxy = opened.proxy;
        return opened.url;
      },
    });
    try {
      const worker = await startStub(app, key, { handle: 'silent' });
      await queue(worker.handle, { first: true });
      const first = await worker.claimSoon();
      await worker.start(first.run_id);
      await worker.complete(first.run_id, {});
      const runId = await queue(worker.handle);
      proxy?.freeze();
      const { answer, milliseconds } = await timed(worker);
      expect(answer).toEqual(EMPTY);
      expect(milliseconds).toBeLessThan(LIMIT_MS + 200);
      proxy?.thaw();
      await pause(500);
      expect(await runOf(runId)).toMatchObject({ status: 'queued', attempt: 0 });
      expect(await worker.claimSoon()).toMatchObject({ run_id: runId, attempt: 1 });
    } finally {
      proxy?.thaw();
      await app.stop();
      await proxy?.close();
    }
  });
});

describe('worker-protocol §23.2: a claim with a dead token', () => {
  let app: RunningApp;
  const env = { SIGNALBOX_FAILED_CREDENTIALS_PER_MINUTE: '100' };
  beforeEach(async () => void (app = await startApp({ database: steady.database, env })));
  afterEach(() => app.stop());

  it('is refused late to SDK 0.2, so that it asks a few times a minute and not 500 times a second', async () => {
    const old = await startStub(app, key, { handle: 'dead-old', manifest: OLD });
    await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: old.handle } });
    const { answer, milliseconds } = await timed(old);
    expect(answer).toMatchObject({ status: 401, payload: { code: 'auth.revoked' } });
    expect(milliseconds).toBeGreaterThan(3_500);
    expect(milliseconds).toBeLessThan(PATIENCE_MS - 500);
  });

  it('is refused at once to whoever ends after it', async () => {
    const young = await startStub(app, key, { handle: 'dead-young' });
    await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: young.handle } });
    const { answer, milliseconds } = await timed(young);
    expect(answer).toMatchObject({ status: 401, payload: { code: 'auth.revoked' } });
    expect(milliseconds).toBeLessThan(1_000);
  });

  it('costs no connection while it is held back, and other frames are refused at once', async () => {
    const strangers = Array.from(
      { length: 20 },
      (_, number) => new StubWorker(app.url, `swt_nobody_${number}`, { handle: 'x' }),
    );
    let isHeld = true;
    const held = Promise.all(strangers.map((stranger) => timed(stranger))).finally(() => (isHeld = false));
    expect((await new StubWorker(app.url, 'swt_nobody', { handle: 'x' }).frame('keep_alive')).status).toBe(401);
    await (await startStub(app, key, { handle: 'beside-them' })).claim();
    expect(isHeld).toBe(true);
    for (const { answer } of await held) expect(answer.status).toBe(401);
  });
});

describe('U-2: a burst of bad tokens from one address', () => {
  it('is throttled, and locks out neither a worker that is there nor one that comes', async () => {
    const app = await startApp({ database: steady.database });
    let isOver = false;
    try {
      const there = await startStub(app, key, { handle: 'there' });
      const gone = await startStub(app, key, { handle: 'gone' });
      await app.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: gone.handle } });
      const answers: { readonly status: number; readonly wait: number }[] = [];
      const attack = async (name: number): Promise<void> => {
        for (let time = 0; !isOver; time += 1) {
          const { status, headers } = await app.call('GET', '/api/v1/api-keys', { key: `sk_guess_${name}_${time}` });
          answers.push({ status, wait: Number(headers.get('retry-after')) });
        }
      };
      const attackers = Array.from({ length: 100 }, (_, name) => attack(name));
      await pause(500);
      const runId = await queue(there.handle);
      const took: number[] = [];
      for (let time = 0; time < 5; time += 1) {
        const { answer, milliseconds } = await timed(there);
        took.push(milliseconds);
        expect(answer.status).toBe(200);
        if (!answer.payload.job) continue;
        await there.start(runId);
        await there.complete(runId, {});
      }
      const { json } = await steady.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: 'comes' } });
      const comes = await new StubWorker(app.url, json.token, { handle: 'comes' }).register();
      const revoked = await gone.frame('keep_alive'); // a worker ends on 401, and would ask again after 429
      isOver = true;
      await Promise.all(attackers);
      expect({ comes: comes.status, revoked: revoked.status }).toEqual({ comes: 200, revoked: 401 });
      expect(Math.max(...took)).toBeLessThan(LIMIT_MS);
      expect(await runOf(runId)).toMatchObject({ status: 'succeeded' });
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(10);
      const throttled = answers.filter(({ status }) => status !== 401);
      expect(new Set(throttled.map(({ status }) => status))).toEqual(new Set([429]));
      expect(throttled.every(({ wait }) => wait > 0 && wait <= 60)).toBe(true);
    } finally {
      isOver = true;
      await app.stop();
    }
  }, 40_000);
});

describe('worker-protocol §23.24: a job that no worker can read', () => {
  it.each([
    ['half of a surrogate pair', String.raw`{"a":"\ud800"}`, /surrogate/],
    ['too many levels', `{"a":${'['.repeat(180)}${']'.repeat(180)}}`, /nested deeper than 150/],
  ])('ends as refused instead of ending workers, and the next run is handed out: %s', async (what, input, reason) => {
    const worker = await startStub(steady, key, { handle: `refused-${what.replaceAll(' ', '-')}` });
    const poison = await queue(worker.handle);
    await steady.database.query('UPDATE run SET input = $2::json WHERE id = $1', [poison, input]);
    const good = await queue(worker.handle);
    expect(await worker.claimSoon()).toMatchObject({ run_id: good });
    const run = await runOf(poison);
    expect(run).toMatchObject({ status: 'failed', started_at: null, output: null });
    expect(run.error).toMatch(/^job_refused: /);
    expect(run.error).toMatch(reason);
    const [row] = await steady.database.query('SELECT end_code, slot FROM run WHERE id = $1', [poison]);
    expect(row).toEqual({ end_code: 'end.job_refused', slot: null });
  });
});
