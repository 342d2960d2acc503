import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { StubWorker, pause, startStub } from '../../support/stub-worker.ts';
import type { Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account & { readonly ownerId: string };
let agents = 0;

beforeAll(async () => {
  app = await startApp();
  account = await app.account();
});
afterAll(() => app.stop());

async function newAgent(): Promise<StubWorker> {
  return startStub(app, account.key, { handle: `managed-${(agents += 1)}` });
}

const show = async (ref: string) => (await app.call('GET', `/api/v1/agents/${ref}`, { key: account.key })).json;
const change = (ref: string, verb: string, key = account.key) =>
  app.call('PATCH', `/api/v1/agents/${ref}/${verb}`, { key });
const order = (ref: string, more: object = {}, headers = {}) =>
  app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: ref, ...more }, headers });
const invoke = (ref: string, body: object = {}) =>
  app.call('POST', `/api/v1/agents/${ref}/invoke`, { key: account.key, body });
const statusOf = async (runId: string) =>
  (await app.call('GET', `/api/v1/runs/${runId}`, { key: account.key })).json.status;

async function listed(query = ''): Promise<string[]> {
  const { json } = await app.call('GET', `/api/v1/agents${query}`, { key: account.key });
  return json.map(({ id_slug }: Json) => id_slug);
}

describe('disabling', () => {
  it('shows in every answer, whether the agent is named by id or by handle, and a repeat changes nothing', async () => {
    const { handle } = await newAgent();
    const { agent_id: id } = await show(handle);
    expect(await show(handle)).toMatchObject({ is_enabled: true });
    const disabled = await change(id, 'disable');
    expect([disabled.status, disabled.json]).toEqual([200, await show(handle)]);
    expect(disabled.json).toMatchObject({ agent_id: id, id_slug: handle, is_enabled: false, is_archived: false });
    expect((await change(handle, 'disable')).json).toMatchObject({ is_enabled: false });
    expect((await change(handle, 'enable')).json).toMatchObject({ is_enabled: true });
    expect((await change(handle, 'enable')).json).toMatchObject({ is_enabled: true });
  });

  it('K-11, N-1: leaves its workers and whoever asks for runs alone', async () => {
    const worker = await newAgent();
    await change(worker.handle, 'disable');
    const answer = invoke(worker.handle, { input: { n: 1 } });
    await worker.serve({ text: 'still here' });
    expect((await answer).json).toMatchObject({ status: 'succeeded', output: { text: 'still here' } });
    expect((await order(worker.handle)).json).toMatchObject({ status: 'queued' });
    expect((await worker.open()).status).toBe(200);
    worker.close();
    const own = await worker.frame('trigger_agent', { run_id: `own-${worker.id}` });
    expect(own.payload).toMatchObject({ accepted: true, status: 'running' });
  });

  it('K-12, N-2: outlives whatever its workers say, new workers and new manifests too', async () => {
    const worker = await newAgent();
    await change(worker.handle, 'disable');
    await worker.register();
    await worker.frame('heartbeat', {});
    const fresh = new StubWorker(app.url, worker.token, { handle: worker.handle, manifest: { version: '2.0.0' } });
    expect((await fresh.register()).status).toBe(200);
    expect(await show(worker.handle)).toMatchObject({ version: '2.0.0', status: 'online', is_enabled: false });
  });

  it('K-15: is not revoking: all four combinations can be reached, and both are shown', async () => {
    const worker = await newAgent();
    const path = `/api/v1/agents/${worker.handle}/token`;
    const combination = async () => [
      (await show(worker.handle)).is_enabled,
      (await app.call('GET', path, { key: account.key })).json.exists,
    ];
    expect(await combination()).toEqual([true, true]);
    await change(worker.handle, 'disable');
    expect(await combination()).toEqual([false, true]);
    await app.call('DELETE', path, { key: account.key });
    expect(await combination()).toEqual([false, false]);
    await change(worker.handle, 'enable');
    expect(await combination()).toEqual([true, false]);
  });
});

describe('archiving', () => {
  it('hides the agent from lists that do not ask for it, and from nothing else', async () => {
    const { handle } = await newAgent();
    const archived = (await change(handle, 'archive')).json;
    expect(archived).toMatchObject({ id_slug: handle, is_archived: true, archived_at: expect.stringMatching(/Z$/) });
    expect(await listed()).not.toContain(handle);
    expect(await listed('?include_archived=true')).toContain(handle);
    expect(await show(handle)).toEqual(archived);
    expect((await change(handle, 'archive')).json.archived_at).toBe(archived.archived_at);
    expect((await change(handle, 'unarchive')).json).toMatchObject({ is_archived: false, archived_at: null });
    expect((await change(handle, 'unarchive')).json).toMatchObject({ is_archived: false, archived_at: null });
    expect(await listed()).toContain(handle);
  });

  it('closes every entry, and unarchiving opens them again', async () => {
    const worker = await newAgent();
    const golden = (await order(worker.handle)).json.run_id;
    await worker.claimSoon();
    await worker.start(golden);
    await worker.complete(golden, { text: 'once' }, { snapshot: { session_id: 's', messages: [] } });
    await change(worker.handle, 'archive');
    const revive = () => app.call('POST', `/api/v1/runs/${golden}/revive`, { key: account.key, body: {} });
    for (const ask of [() => order(worker.handle), () => invoke(worker.handle), revive]) {
      const { status, json } = await ask();
      expect([status, json.code]).toEqual([409, 'agent.archived']);
    }
    const own = () => worker.frame('trigger_agent', { run_id: `closed-${worker.id}` });
    expect(await own()).toMatchObject({ status: 409, payload: { code: 'agent.archived' } });
    const body = { agent_id: worker.handle, run_id: `direct-${worker.id}`, worker_id: worker.id, input: {} };
    const direct = () => app.call('POST', '/api/v1/runs/start-direct', { key: worker.token, body });
    expect(await direct()).toMatchObject({ status: 409, json: { code: 'agent.archived' } });
    await change(worker.handle, 'unarchive');
    expect((await order(worker.handle)).status).toBe(200);
    expect((await revive()).status).toBe(200);
    expect((await own()).payload).toMatchObject({ accepted: true });
    expect((await direct()).status).toBe(200);
  });

  it('lets what was accepted go on: what waits is handed out, what runs ends, and its worker may register again', async () => {
    const worker = await newAgent();
    const running = (await order(worker.handle)).json.run_id;
    await worker.claimSoon();
    await worker.start(running);
    const queued = (await order(worker.handle)).json.run_id;
    await change(worker.handle, 'archive');
    expect((await worker.complete(running, { text: 'first' })).payload).toMatchObject({ accepted: true });
    const fresh = new StubWorker(app.url, worker.token, { handle: worker.handle });
    await fresh.register();
    expect((await fresh.serve({ text: 'second' })).run_id).toBe(queued);
    expect([await statusOf(running), await statusOf(queued)]).toEqual(['succeeded', 'succeeded']);
    expect(await show(worker.handle)).toMatchObject({ is_archived: true, status: 'online' });
  });

  it('still answers who asks again for what was accepted before, and starts nothing', async () => {
    const worker = await newAgent();
    const asks = [
      () => order(worker.handle, {}, { 'idempotency-key': worker.id }),
      () => invoke(worker.handle, { event_id: 'once', input: { n: 1 } }),
      async () => (await worker.frame('trigger_agent', { run_id: `again-${worker.id}` })).payload,
    ];
    const first = Promise.all(asks.map((ask) => ask()));
    await worker.serve();
    await worker.serve();
    const answers = JSON.parse(JSON.stringify(await first));
    await change(worker.handle, 'archive');
    const again = JSON.parse(JSON.stringify(await Promise.all(asks.map((ask) => ask()))));
    expect(again).toEqual(answers);
    const other = await invoke(worker.handle, { event_id: 'once', input: { n: 2 } });
    expect(other.json.code).toBe('idempotency.conflict');
  });

  it('is answered when the orders are settled that had found the agent open; whoever comes meanwhile is refused', async () => {
    const worker = await newAgent();
    await slowOrders();
    const ends: string[] = [];
    const slow = order(worker.handle, { input: { slow: true } }).then(({ status }) => ends.push(`order ${status}`));
    await pause(150);
    const archive = change(worker.handle, 'archive').then(({ status }) => ends.push(`archive ${status}`));
    await pause(150);
    const late = order(worker.handle).then(({ status }) => ends.push(`late order ${status}`));
    await Promise.all([slow, archive, late]);
    expect(ends).toEqual(['late order 409', 'order 200', 'archive 200']);
  });

  it('and many orders at the same time: none is accepted after the archive was answered, and the archive waits for no end of them', async () => {
    for (let round = 0; round < 6; round += 1) {
      const worker = await newAgent();
      let isOver = false;
      let accepted = 0;
      const clients = Array.from({ length: 8 }, async (_, client) => {
        for (let n = 0; !isOver; n += 1) {
          const { status } =
            client === 0
              ? await worker.frame('trigger_agent', { run_id: `race-${worker.id}-${n}` })
              : await order(worker.handle);
          if (status === 200) accepted += 1;
        }
      });
      await pause(50 + round * 7);
      const { status } = await change(worker.handle, 'archive');
      const runs = await countRuns(worker.handle);
      await pause(50);
      isOver = true;
      await Promise.all(clients);
      expect(status).toBe(200);
      expect(runs).toBeGreaterThan(0);
      expect([await countRuns(worker.handle), accepted]).toEqual([runs, runs]);
    }
  });

  it('needs the capability, leaves one row a call, and of another account’s agent there is none', async () => {
    const { handle } = await newAgent();
    const viewer = await app.call('POST', '/api/v1/api-keys', {
      key: account.key,
      body: { name: 'viewer', role_ids: ['role_viewer'] },
    });
    const { key: foreign } = await app.account();
    for (const verb of ['disable', 'enable', 'archive', 'unarchive']) {
      expect((await change(handle, verb, viewer.json.key)).json.code).toBe('access.denied');
      const missing = await change('nobody', verb);
      const { status, json } = await change(handle, verb, foreign);
      expect([status, json.code, json.detail]).toEqual([404, 'agent.not_found', missing.json.detail]);
      await change(handle, verb);
      await change(handle, verb);
    }
    const rows = await app.database.query(
      `SELECT action, outcome, detail ->> 'changed' AS changed FROM audit_entry
        WHERE account_id = $1 AND target_id = $2 AND action LIKE 'agent.%' ORDER BY at, id`,
      [account.accountId, handle],
    );
    expect(rows.map(({ action, outcome, changed }) => `${action} ${outcome} ${changed}`)).toEqual([
      ...['disable', 'enable', 'archive', 'unarchive'].flatMap((verb) => [
        `agent.${verb} refused null`,
        `agent.${verb} done true`,
        `agent.${verb} done false`,
      ]),
    ]);
  });
});

/** Makes every run whose input says so take its time between the look at its agent and its commit. */
async function slowOrders(): Promise<void> {
  await app.database.query(`
    CREATE FUNCTION slow_down() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.input::jsonb ? 'slow' THEN PERFORM pg_sleep(0.6); END IF; RETURN NEW; END $$`);
  await app.database.query('CREATE TRIGGER slow BEFORE INSERT ON run FOR EACH ROW EXECUTE FUNCTION slow_down()');
}

async function countRuns(handle: string): Promise<number> {
  const [row] = await app.database.query(
    'SELECT count(*)::int AS runs FROM run WHERE account_id = $1 AND agent_id = (SELECT id FROM agent WHERE account_id = $1 AND handle = $2)',
    [account.accountId, handle],
  );
  return row?.['runs'] as number;
}
