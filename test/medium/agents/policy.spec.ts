import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account & { readonly ownerId: string };
let agents = 0;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_MAX_OFFERS: '7' } });
  account = await app.account();
});
afterAll(() => app.stop());

async function newAgent(): Promise<StubWorker> {
  return startStub(app, account.key, { handle: `terms-${(agents += 1)}` });
}

const read = (ref: string, key = account.key) => app.call('GET', `/api/v1/agents/${ref}/policy`, { key });
const put = (ref: string, body: unknown, key = account.key) =>
  app.call('PUT', `/api/v1/agents/${ref}/policy`, { key, body });

async function audited(ref: string): Promise<Json[]> {
  return app.database.query(
    `SELECT outcome, detail FROM audit_entry WHERE action = 'agent_policy.update' AND target_id = $1 ORDER BY at, id`,
    [ref],
  );
}

describe('an agent’s policy', () => {
  it('is the installation’s until somebody decides otherwise, and says so', async () => {
    const { handle } = await newAgent();
    const { status, json } = await read(handle);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      ...{ version: 0, updated_at: null, updated_by: null, max_offers: 7, silent_limit_seconds: 900 },
      ...{ run_limit_seconds: 86_400, queue_ttl_seconds: 86_400, invoke_unreachable_after_seconds: 30 },
      ...{ max_concurrent_runs: null, max_queued_runs: null },
      retry: { on: [], max_attempts: 1, backoff_seconds: 5, factor: 2, max_backoff_seconds: 300 },
    });
    expect(json.defaults).toHaveLength(8);
  });

  it('is replaced by a PUT: what it leaves out stands at the default again', async () => {
    const { handle } = await newAgent();
    const first = await put(handle, {
      retry: { on: ['worker_lost', 'failed'], max_attempts: 3 },
      max_offers: 2,
      queue_ttl_seconds: 60,
    });
    expect(first.json).toMatchObject({
      version: 1,
      updated_by: account.ownerId,
      max_offers: 2,
      queue_ttl_seconds: 60,
      retry: {
        on: ['worker_lost', 'failed'],
        max_attempts: 3,
        backoff_seconds: 5,
        factor: 2,
        max_backoff_seconds: 300,
      },
    });
    expect(first.json.defaults).toEqual(expect.not.arrayContaining(['retry', 'max_offers', 'queue_ttl_seconds']));
    expect((await read(handle)).json).toEqual(first.json);
    const second = await put(handle, { max_concurrent_runs: 4, queue_ttl_seconds: null });
    expect(second.json).toMatchObject({
      ...{ version: 2, max_offers: 7, queue_ttl_seconds: 86_400, max_concurrent_runs: 4 },
      retry: { on: [] },
    });
    expect((await read(second.json.agent_id)).json).toEqual(second.json);
    expect((await app.call('GET', `/api/v1/agents/${handle}`, { key: account.key })).json.policy_version).toBe(2);
  });

  it('is the terms that other rooms read, at once', async () => {
    const { handle } = await newAgent();
    const { agent_id: id } = (await put(handle, { silent_limit_seconds: 5, retry: { on: ['failed'] } })).json;
    const [terms] = await app.database.query<Json>('SELECT * FROM agent_terms WHERE agent_id = $1', [id]);
    expect(terms).toMatchObject({
      silent_limit_seconds: 5,
      retry: { on: ['failed'], max_attempts: 1 },
      max_offers: null,
    });
  });

  it('rings for the agent’s waiting runs when it changes', async () => {
    const worker = await newAgent();
    await worker.open();
    await put(worker.handle, { max_queued_runs: 3 });
    expect(await worker.hears('work_available')).toBeDefined();
    worker.close();
  });

  it('is not replaced by who has seen another version, and says which fault that is', async () => {
    const { handle } = await newAgent();
    expect((await put(handle, { max_offers: 3, base_version: 1 })).json.code).toBe('agent_policy.changed');
    expect((await put(handle, { max_offers: 3, base_version: 0 })).json.version).toBe(1);
    const stale = await put(handle, { max_offers: 4, base_version: 0 });
    expect([stale.status, stale.json.code]).toEqual([409, 'agent_policy.changed']);
    expect((await read(handle)).json).toMatchObject({ version: 1, max_offers: 3 });
  });

  it('of ten who have all seen the same version is replaced by one', async () => {
    const { handle } = await newAgent();
    for (const base_version of [0, 1]) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => put(handle, { max_offers: index + 1, base_version })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
      expect((await read(handle)).json.version).toBe(base_version + 1);
    }
  });

  it('leaves what was in force before and after on record', async () => {
    const { handle } = await newAgent();
    await put(handle, { max_offers: 3 });
    await put(handle, { max_offers: 4, max_queued_runs: 9 });
    await put(handle, { max_offers: 5, base_version: 1 });
    expect(await audited(handle)).toMatchObject([
      { outcome: 'done', detail: { before: { max_offers: null }, after: { max_offers: 3, max_queued_runs: null } } },
      {
        outcome: 'done',
        detail: { version: 2, before: { max_offers: 3 }, after: { max_offers: 4, max_queued_runs: 9 } },
      },
      { outcome: 'failed', detail: { code: 'agent_policy.changed' } },
    ]);
  });

  it.each([
    [{ queue_ttl: 60 }, ['body']],
    [{ silent_limit_seconds: 4 }, ['body', 'silent_limit_seconds']],
    [{ max_offers: 2.5 }, ['body', 'max_offers']],
    [{ retry: { on: ['timeout'] } }, ['body', 'retry', 'on', 0]],
    [{ retry: { on: [], tries: 2 } }, ['body', 'retry']],
  ])('refuses %j at its place and keeps what was', async (body, loc) => {
    const { handle } = await newAgent();
    const { status, json } = await put(handle, body);
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
    expect((await read(handle)).json.version).toBe(0);
  });

  it('does not open for a worker token, and of another account’s agent there is none', async () => {
    const worker = await newAgent();
    const byWorker = await put(worker.handle, {}, worker.token);
    expect([byWorker.status, byWorker.json.code]).toEqual([403, 'access.denied']);
    const { key: foreign } = await app.account();
    const id = (await read(worker.handle)).json.agent_id;
    for (const answer of [
      await read(id, foreign),
      await put(id, {}, foreign),
      await read('none'),
      await put('none', {}),
    ])
      expect([answer.status, answer.json.code]).toEqual([404, 'agent.not_found']);
    expect((await read(id)).json.version).toBe(0);
  });
});
