import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let other: RunningApp;
let account: Account;
let agents = 0;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_INVOKE_WAIT_SECONDS: '0.3' } });
  other = await startApp({ database: app.database });
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

async function newAgent(policy: object = {}): Promise<StubWorker> {
  account ??= await app.account();
  const worker = await startStub(app, account.key, { handle: `admission-${(agents += 1)}` });
  await app.call('PUT', `/api/v1/agents/${worker.handle}/policy`, { key: account.key, body: policy });
  return worker;
}

const order = (ref: string, { on = app, key = '' }: { on?: RunningApp; key?: string } = {}) =>
  on.call('POST', '/api/v1/runs', {
    key: account.key,
    body: { agent_id: ref },
    ...(key === '' ? {} : { headers: { 'idempotency-key': key } }),
  });
const invoke = (ref: string, body: object) =>
  app.call('POST', `/api/v1/agents/${ref}/invoke`, { key: account.key, body });

async function stored(ref: string): Promise<number> {
  const [row] = await app.database.query<{ count: number }>(
    'SELECT count(*)::int AS count FROM run JOIN agent ON agent.id = run.agent_id WHERE agent.handle = $1',
    [ref],
  );
  return row?.count ?? 0;
}

describe('over an agent’s max_queued_runs', () => {
  it('an order is answered 429 limit.agent_queue with Retry-After, and nothing of it is stored', async () => {
    const worker = await newAgent({ max_queued_runs: 2 });
    await order(worker.handle);
    await order(worker.handle);
    for (const { status, json, headers } of [await order(worker.handle), await invoke(worker.handle, {})]) {
      expect([status, json.code]).toEqual([429, 'limit.agent_queue']);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect(await stored(worker.handle)).toBe(2);
    await worker.claim(); // what is handed out waits no more
    expect((await order(worker.handle)).status).toBe(200);
    expect((await order(worker.handle)).status).toBe(429);
  });

  it('a hundred orders at once on two replicas, at a limit of ten, are exactly ten runs', async () => {
    const { handle } = await newAgent({ max_queued_runs: 10 });
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) => order(handle, { on: index % 2 === 0 ? app : other })),
    );
    const counts = Object.groupBy(answers, ({ status }) => status);
    expect([counts[200]?.length, counts[429]?.length]).toEqual([10, 90]);
    expect(await stored(handle)).toBe(10);
  });

  it('a repeated event_id still gets its run, and a new one does not', async () => {
    const worker = await newAgent({ max_queued_runs: 1 });
    const first = invoke(worker.handle, { event_id: 'once', input: { n: 1 } });
    await worker.serve({ text: 'served' });
    const { run_id } = (await first).json;
    expect((await order(worker.handle)).status).toBe(200);
    expect((await invoke(worker.handle, { event_id: 'once', input: { n: 1 } })).json).toMatchObject({
      run_id,
      status: 'succeeded',
    });
    expect((await invoke(worker.handle, { event_id: 'once', input: { n: 2 } })).json.code).toBe('idempotency.conflict');
    expect((await invoke(worker.handle, { event_id: 'twice' })).json.code).toBe('limit.agent_queue');
  });

  it('one event_id that comes ten times at once is one run, and answered each time', async () => {
    const { handle } = await newAgent({ max_queued_runs: 1 });
    const answers = await Promise.all(Array.from({ length: 10 }, () => invoke(handle, { event_id: 'at once' })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 200));
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1);
  });

  it('a repeated Idempotency-Key still gets its run, also when both come at once', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { handle } = await newAgent({ max_queued_runs: 1 });
      const answers = await Promise.all([order(handle, { key: handle }), order(handle, { key: handle, on: other })]);
      answers.push(await order(handle, { key: handle }));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1);
      expect(await stored(handle)).toBe(1);
    }
  });

  it('other agents of the account are none the wiser', async () => {
    const full = await newAgent({ max_queued_runs: 1 });
    const free = await newAgent();
    await order(full.handle);
    expect((await order(full.handle)).status).toBe(429);
    expect((await order(free.handle)).status).toBe(200);
  });

  it('a limit that is raised lets the next order in at once', async () => {
    const { handle } = await newAgent({ max_queued_runs: 1 });
    await order(handle);
    expect((await order(handle)).status).toBe(429);
    await app.call('PUT', `/api/v1/agents/${handle}/policy`, { key: account.key, body: {} });
    expect((await order(handle)).status).toBe(200);
  });
});
