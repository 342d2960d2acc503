import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubWorker, pause, startStub } from '../../support/stub-worker.ts';
import { tokenFor, type Account } from '../workers/wire.ts';

/** The product's waits at a tenth. */
const TENTH = {
  SIGNALBOX_SWEEP_SECONDS: '0.2',
  SIGNALBOX_PRESENCE_WINDOW_SECONDS: '9',
  SIGNALBOX_CLAIM_WINDOW_SECONDS: '5',
};

let app: RunningApp;
let account: Account;
let agents = 0;

beforeAll(async () => {
  app = await startApp({ env: TENTH });
  account = await app.account();
});
afterAll(() => app.stop());

const ask = async (
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
  path: string,
  body?: unknown,
): Promise<Json> => {
  const answer = await app.call(method, `/api/v1${path}`, { key: account.key, body });
  expect({ path, status: answer.status }).toEqual({ path, status: method === 'DELETE' ? 204 : 200 });
  return answer.json;
};
const order = async ({ handle }: StubWorker): Promise<string> =>
  (await ask('POST', '/runs', { agent_id: handle })).run_id;
const revoke = ({ handle }: StubWorker) => ask('DELETE', `/agents/${handle}/token`);
const worker = () => startStub(app, account.key, { handle: `dead-${(agents += 1)}` });

/** A run that the worker has started. */
async function running(holder: StubWorker): Promise<string> {
  const runId = await order(holder);
  await holder.claimSoon();
  await holder.start(runId);
  return runId;
}

/** As far as the rows know, nothing was heard of the worker for so long. */
async function silence({ id }: StubWorker, seconds: number): Promise<void> {
  await ask('GET', `/workers/${id}`); // what was heard is written first
  await app.database.query(`UPDATE hearing SET since = now() - interval '1 day'`);
  await app.database.query('UPDATE worker SET last_seen_at = now() - make_interval(secs => $2) WHERE id = $1', [
    id,
    seconds,
  ]);
}

async function until(runId: string, status: string): Promise<Json> {
  for (const end = Date.now() + 8_000; ; await pause(50)) {
    const run = await ask('GET', `/runs/${runId}`);
    if (run.status === status) return run;
    if (Date.now() > end) throw new Error(`${runId} is ${run.status}, not ${status}: ${run.error}`);
  }
}

describe('an agent whose token is revoked', () => {
  it('keeps what waits, says why it waits, and gives it to a worker with the next token; archived, too', async () => {
    for (const isArchived of [false, true]) {
      const old = await worker();
      await old.claim();
      const waiting = [await order(old), await order(old)];
      await revoke(old);
      if (isArchived) await ask('PATCH', `/agents/${old.handle}/archive`);
      expect((await old.frame('run_claim')).status).toBe(401);
      const { reasons, candidates } = await ask('GET', `/runs/${waiting[0]}/explain`);
      expect(JSON.stringify([reasons, candidates])).toContain('worker.token_revoked');
      const fresh = new StubWorker(app.url, await tokenFor(app, account, old.handle), { handle: old.handle });
      expect((await fresh.register()).status).toBe(200);
      for (const runId of waiting) expect((await fresh.serve({ text: 'late' })).run_id).toBe(runId);
      for (const runId of waiting) expect(await until(runId, 'succeeded')).toMatchObject({ output: { text: 'late' } });
    }
  });

  it('hears no more of its running run from the old token; the same worker goes on with the next one', async () => {
    const old = await worker();
    const runId = await running(old);
    await revoke(old);
    expect((await old.complete(runId, { text: 'too late' })).status).toBe(401);
    expect(await ask('GET', `/runs/${runId}`)).toMatchObject({ status: 'running', worker_id: old.id });
    const token = await tokenFor(app, account, old.handle);
    const same = new StubWorker(app.url, token, { handle: old.handle, workerId: old.id });
    expect((await same.complete(runId, { text: 'in time' })).payload).toMatchObject({ accepted: true });
    expect(await until(runId, 'succeeded')).toMatchObject({ output: { text: 'in time' } });
  });

  it('U-13: has no run that stays: where nobody goes on with it, it ends as lost at the silent limit', async () => {
    const old = await worker();
    await ask('PUT', `/agents/${old.handle}/policy`, { silent_limit_seconds: 20 });
    const runId = await running(old);
    await revoke(old);
    await silence(old, 15);
    await pause(600);
    expect(await ask('GET', `/runs/${runId}`)).toMatchObject({ status: 'running' });
    await silence(old, 21);
    expect(await until(runId, 'failed')).toMatchObject({ error: expect.stringContaining('lost') });
  });

  it('gives a lost run to a worker with the next token, where its policy tries again', async () => {
    const old = await worker();
    await ask('PUT', `/agents/${old.handle}/policy`, {
      silent_limit_seconds: 20,
      retry: { on: ['worker_lost'], max_attempts: 2, backoff_seconds: 0 },
    });
    const runId = await running(old);
    await revoke(old);
    await silence(old, 21);
    await until(runId, 'queued');
    const fresh = new StubWorker(app.url, await tokenFor(app, account, old.handle), { handle: old.handle });
    await fresh.register();
    expect(await fresh.serve({ text: 'again' })).toMatchObject({ run_id: runId, attempt: 2 });
    expect(await until(runId, 'succeeded')).toMatchObject({ output: { text: 'again' } });
  });

  it('offers a run again that its worker had claimed and not started', async () => {
    const old = await worker();
    const runId = await order(old);
    await old.claimSoon();
    await revoke(old);
    await silence(old, 10);
    await until(runId, 'queued');
    const fresh = new StubWorker(app.url, await tokenFor(app, account, old.handle), { handle: old.handle });
    await fresh.register();
    expect((await fresh.serve()).run_id).toBe(runId);
  });
});
