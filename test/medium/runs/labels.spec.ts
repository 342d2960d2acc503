import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let other: RunningApp;
let account: Account;
let agents = 0;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_INVOKE_WAIT_SECONDS: '5' } });
  other = await startApp({ database: app.database });
  account = await app.account();
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

async function newAgent(on = app): Promise<StubWorker> {
  return startStub(on, account.key, { handle: `labels-${(agents += 1)}` });
}

const call = (method: 'GET' | 'POST' | 'PUT', path: string, body?: unknown) =>
  app.call(method, `/api/v1${path}`, { key: account.key, body });
const order = (ref: string, more: object = {}) => call('POST', '/runs', { agent_id: ref, ...more });
const invoke = (ref: string, body: unknown) => call('POST', `/agents/${ref}/invoke`, body);

async function factsOf(runId: string): Promise<Json> {
  const [row] = await app.database.query('SELECT * FROM run_facts WHERE id = $1', [runId]);
  return row;
}

describe('the labels of a run', () => {
  it('come back as they were sent, wherever the run is shown', async () => {
    const { handle } = await newAgent();
    const labels = '{"team": " Blue ", "__proto__": "own", "10": "ten", "größe": "", "at": "2030-01-31"}';
    const created = await call('POST', '/runs', `{"agent_id": "${handle}", "labels": ${labels}}`);
    const sent = JSON.parse(labels);
    expect(created.status).toBe(200);
    const [listed] = (await call('GET', `/runs?agent_id=${handle}`)).json;
    const shown = [created.json, listed, (await call('GET', `/runs/${created.json.run_id}`)).json];
    for (const { labels: back } of shown) {
      expect(Object.entries(back).toSorted()).toEqual(Object.entries(sent).toSorted());
    }
    expect((await order(handle)).json.labels).toEqual({});
    expect((await order(handle, { labels: null })).json.labels).toEqual({});
  });

  it.each([
    [{ labels: { n: 7 } }, ['body', 'labels', 'n']],
    [{ labels: ['blue'] }, ['body', 'labels']],
    [{ labels: { '': 'x' } }, ['body', 'labels', '']],
    [{ labels: { a: 'x'.repeat(10_001) } }, ['body', 'labels']],
    [{ require: { versions: '1' } }, ['body', 'require']],
    [{ require: { version: '' } }, ['body', 'require', 'version']],
    [{ require: { labels: { gpu: true } } }, ['body', 'require', 'labels', 'gpu']],
    ['{"agent_id": "AGENT", "labels": {"a": "x\\u0000"}}', ['body', 'labels', 'a']],
    ['{"agent_id": "AGENT", "require": {"labels": {"a": "\\ud800"}}}', ['body', 'require', 'labels', 'a']],
  ])('are refused where they are wrong, and no run is made: %j', async (body, loc) => {
    const { handle } = await newAgent();
    const answer =
      typeof body === 'string' ? await call('POST', '/runs', body.replace('AGENT', handle)) : await order(handle, body);
    expect([answer.status, answer.json.detail[0].loc]).toEqual([422, loc]);
    expect((await call('GET', `/runs?agent_id=${handle}`)).json).toEqual([]);
  });
});

describe('what a run requires of its worker', () => {
  it('is kept with it, from either way of asking', async () => {
    const { handle } = await newAgent();
    const require = { version: '1.0.0', labels: { region: 'eu' } };
    const { run_id } = (await order(handle, { require })).json;
    expect(await factsOf(run_id)).toMatchObject({
      ...{ labels: {}, require_version: '1.0.0', require_labels: { region: 'eu' }, needs_replay: false },
    });
    const plain = (await order(handle, { require: { version: null } })).json;
    expect(await factsOf(plain.run_id)).toMatchObject({ require_version: null, require_labels: {} });
  });

  it('is a worker that can replay, where the input orders a replay', async () => {
    const { handle } = await newAgent();
    const { run_id } = (await order(handle, { input: { agentops_replay: { golden_run_id: 'run_1' } } })).json;
    expect(await factsOf(run_id)).toMatchObject({ needs_replay: true });
  });

  it('and its labels are part of what an event_id stands for', async () => {
    const worker = await newAgent();
    const asked = { event_id: 'once', labels: { a: '1', b: '2' }, require: { version: '1.0.0' } };
    const first = invoke(worker.handle, asked);
    await worker.serve();
    const { run_id } = (await first).json;
    expect((await invoke(worker.handle, { ...asked, labels: { b: '2', a: '1' } })).json).toMatchObject({ run_id });
    for (const changed of [{ labels: { a: '1' } }, { require: null }, { require: { version: '2.0.0' } }]) {
      const { status, json } = await invoke(worker.handle, { ...asked, ...changed });
      expect([changed, status, json.code]).toEqual([changed, 409, 'idempotency.conflict']);
    }
  });
});

describe('what a run waits for', () => {
  it('is its turn while it is queued, and nothing once somebody has it', async () => {
    const worker = await newAgent();
    const { run_id, waiting, created_at } = (await order(worker.handle)).json;
    expect(waiting).toEqual({ kind: 'queue', since: created_at });
    expect((await call('GET', `/runs?agent_id=${worker.handle}`)).json[0].waiting).toEqual(waiting);
    await worker.claim();
    expect((await call('GET', `/runs/${run_id}`)).json.waiting).toBeNull();
  });

  it('is the end of a pause where its agent’s policy retries it later', async () => {
    const worker = await newAgent();
    const retry = { on: ['failed'], max_attempts: 2, backoff_seconds: 60 };
    await call('PUT', `/agents/${worker.handle}/policy`, { retry });
    const { run_id } = (await order(worker.handle)).json;
    const { run_id: claimed } = await worker.claimSoon();
    expect(claimed).toBe(run_id);
    await worker.start(run_id);
    await worker.fail(run_id, 'a first try');
    const { status, waiting } = (await call('GET', `/runs/${run_id}`)).json;
    expect({ status, waiting }).toEqual({ status: 'queued', waiting: { kind: 'backoff', since: expect.any(String) } });
    expect(await worker.claim()).toBeUndefined();
  });
});

describe('F-1: what goes between replicas is ids only', () => {
  it('an invoke at one replica with 1 MB of input and a 9 kB label reaches a worker of the other, and its end comes back', async () => {
    const worker = await newAgent(other);
    await worker.open();
    const input = { text: 'ü'.repeat(512 * 1_024) };
    const labels = { note: 'x'.repeat(9 * 1_024) };
    const answering = invoke(worker.handle, { input, labels, event_id: 'e'.repeat(200) });
    await worker.hears('work_available');
    const job = await worker.serve({ text: 'done' });
    expect(job.input).toEqual(input);
    expect((await answering).json).toMatchObject({ run_id: job.run_id, status: 'succeeded', output: { text: 'done' } });
    expect((await call('GET', `/runs/${job.run_id}`)).json.labels).toEqual(labels);
    worker.close();
  });
});
