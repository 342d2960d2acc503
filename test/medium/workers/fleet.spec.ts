import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { Fleet, Presence } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker } from '../../support/stub-worker.ts';
import { manifestOf, openChannel, register, tell, tokenFor, workerOf as mint, type Account } from './wire.ts';

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_CHANNEL_PING_SECONDS: '0.2' } });
  account = await app.account();
});
afterAll(() => app.stop());

const workerOf = (handle: string, id?: string) => mint(app, account, handle, id);

async function registered(handle: string, more: object = {}): Promise<StubWorker> {
  const worker = await workerOf(handle);
  await register(worker, manifestOf(handle, more));
  return worker;
}

async function show({ id }: { readonly id: string }): Promise<Json> {
  return (await app.call('GET', `/api/v1/workers/${id}`, { key: account.key })).json;
}

async function list(query: string, key = account.key) {
  const answer = await app.call('GET', `/api/v1/workers?${query}`, { key });
  return {
    ...answer,
    ids: answer.status === 200 ? answer.json.map((one: { worker_id: string }) => one.worker_id) : [],
  };
}

function states(worker: Json): Json {
  return Object.fromEntries(Object.entries(worker.lights).map(([name, light]) => [name, (light as Json).state]));
}

describe('the lights of a real worker', () => {
  it('K-28: process, channel, claim and events are broken one after the other, and each changes its own light only', async () => {
    const worker = await registered('lights');
    const lit = { process: 'ok', channel: 'ok', claim: 'ok', events: 'unused' };
    expect(states(await show(worker))).toEqual({ ...lit, channel: 'down', claim: 'down' });

    await tell(worker, 'run_claim');
    expect(states(await show(worker))).toEqual({ ...lit, channel: 'down' });

    const channel = await openChannel(app.url, worker);
    await eventually(() => expect(channel.of('ping').length).toBeGreaterThan(0));
    await eventually(async () => expect(states(await show(worker))).toEqual({ ...lit, channel: 'unknown' }));
    await tell(worker, 'pong', { nonce: channel.of('ping').at(-1).payload.nonce });
    const whole = await show(worker);
    expect(states(whole)).toEqual(lit);
    expect(whole).toMatchObject({
      state: 'online',
      assignable: true,
      excluded_by: null,
      delivery: ['channel', 'claim'],
    });
    expect(whole.channel).toMatchObject({ replica_id: expect.stringMatching(/^rep_/), closed_by: null });
    expect(whole.channel.round_trip_ms).toBeGreaterThan(0);

    channel.close();
    await eventually(async () => expect(states(await show(worker))).toEqual({ ...lit, channel: 'down' }));
    expect((await show(worker)).channel.closed_by).toBe('worker');
    expect(await show(worker)).toMatchObject({
      assignable: true,
      excluded_by: 'worker.channel_stale',
      delivery: ['claim'],
    });
  });

  it('A4: is offline at once when it closed its channel and did not come back, though it was heard within its window', async () => {
    const worker = await registered('hung-up');
    await tell(worker, 'run_claim');
    await app.nest.get(Presence).flush();
    const channelOf = (seconds: number) => `
      UPDATE worker SET registered_at = now() - interval '1 min', channel_opened_at = now() - interval '1 min', channel_closed_at = now() - interval '${seconds} s',
             channel_closed_by = 'worker', last_seen_at = now() - interval '${seconds} s', last_claim_at = now() - interval '${seconds} s'
       WHERE id = $1`;
    await app.database.query(`UPDATE hearing SET since = now() - interval '1 hour'`);
    await app.database.query(channelOf(10), [worker.id]);
    const soon = await show(worker);
    expect(soon).toMatchObject({ state: 'online', lost: null, excluded_by: 'worker.channel_stale' });
    expect(Date.parse(soon.presence.offline_at) - Date.parse(soon.presence.last_seen_at)).toBe(15_000);
    await app.database.query(channelOf(16), [worker.id]);
    const gone = await show(worker);
    expect(gone).toMatchObject({
      ...{ state: 'offline', assignable: false, excluded_by: 'worker.offline' },
      lost: { rule: 'closed_by_worker', at: gone.presence.offline_at },
      lights: { process: { state: 'ok' } },
    });
    expect((await list('agent_id=hung-up&state=online')).ids).toEqual([]);
    expect((await list('agent_id=hung-up&state=offline')).ids).toEqual([worker.id]);
  });

  it('A4: is lost by bytes that its machine does not acknowledge, whatever else is heard', async () => {
    const worker = await registered('dead-host');
    const channel = await openChannel(app.url, worker);
    await eventually(async () => expect((await show(worker)).channel.opened_at).not.toBeNull());
    await app.database.query(`UPDATE hearing SET since = now() - interval '1 hour'`);
    await app.database.query(`UPDATE worker SET unacked_since = now() - interval '19 s' WHERE id = $1`, [worker.id]);
    expect(await show(worker)).toMatchObject({ state: 'online', lost: null });
    await app.database.query(`UPDATE worker SET unacked_since = now() - interval '21 s' WHERE id = $1`, [worker.id]);
    expect(await show(worker)).toMatchObject({ state: 'offline', lost: { rule: 'unacknowledged' } });
    channel.close();
  });

  it('is online and cannot be assigned while it does not ask for work', async () => {
    const worker = await registered('idle');
    await tell(worker, 'run_claim');
    await app.nest.get(Presence).flush();
    await app.database.query(
      `UPDATE worker SET registered_at = now() - interval '5 min', last_claim_at = now() - interval '26 s' WHERE id = $1`,
      [worker.id],
    );
    expect(await show(worker)).toMatchObject({
      state: 'online',
      assignable: false,
      excluded_by: 'worker.not_claiming',
      lights: { claim: { state: 'stale' } },
    });
    await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '91 s' WHERE id = $1`, [worker.id]);
    expect(await show(worker)).toMatchObject({ state: 'offline', assignable: false, excluded_by: 'worker.offline' });
  });

  it('shows the run that it holds, its slots, and that it is busy', async () => {
    const worker = await registered('holds');
    await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'holds', input: {} } });
    const job = await worker.claim();
    expect(await show(worker)).toMatchObject({
      ...{
        slots: { total: 1, busy: 1 },
        assignable: true,
        excluded_by: 'worker.busy',
        lights: { events: { state: 'unused' } },
      },
      runs: [{ run_id: job.run_id, attempt: 1, status: 'claimed', since: expect.stringMatching(/Z$/) }],
    });
    await worker.start(job.run_id);
    expect(await show(worker)).toMatchObject({
      runs: [{ status: 'running' }],
      lights: { events: { state: 'unknown' } },
    });
    await worker.complete(job.run_id, {});
    expect(await show(worker)).toMatchObject({
      runs: [],
      slots: { busy: 0 },
      excluded_by: 'worker.channel_stale', // it has opened none
      lights: { events: { state: 'unused' } },
    });
  });

  it('Q-15: drains once it says so, at its own word, until it registers again', async () => {
    const worker = await registered('leaving');
    await tell(worker, 'run_claim');
    const mode = async () =>
      (await app.database.query(`SELECT mode, mode_since, mode_by FROM worker WHERE id = $1`, [worker.id]))[0];
    const { agent_id: id } = await show(worker);
    const leave = () =>
      app.nest.get(Fleet).announceDraining({ accountId: account.accountId, id, credentialId: '' }, worker.id);
    await leave();
    const drained = await mode();
    expect(drained).toEqual({ mode: 'draining', mode_since: expect.any(Date), mode_by: null });
    expect(await show(worker)).toMatchObject({ mode: 'draining', assignable: false, excluded_by: 'worker.draining' });
    await leave();
    expect(await mode()).toEqual(drained);
    await register(worker, manifestOf('leaving'));
    expect(await mode()).toEqual({ mode: 'normal', mode_since: null, mode_by: null });
  });

  it('is excluded when its token is dead, and marked when the fact arrives', async () => {
    const worker = await registered('revoked');
    await tell(worker, 'run_claim');
    expect(await show(worker)).toMatchObject({ assignable: true, token: { state: 'valid' } });
    await app.call('DELETE', '/api/v1/agents/revoked/token', { key: account.key });
    expect(await show(worker)).toMatchObject({
      assignable: false,
      excluded_by: 'worker.token_revoked',
      token: { state: 'revoked' },
    });
    await eventually(async () => {
      const [row] = await app.database.query(`SELECT token_revoked_at FROM worker WHERE id = $1`, [worker.id]);
      expect(row).toMatchObject({ token_revoked_at: expect.any(Date) });
    });
    const renewed = await mint(app, account, 'revoked', worker.id);
    await register(renewed, manifestOf('revoked'));
    const [row] = await app.database.query(`SELECT token_revoked_at FROM worker WHERE id = $1`, [worker.id]);
    expect(row).toEqual({ token_revoked_at: null });
  });

  it('D-6: says how it is reached and where it says it runs', async () => {
    const worker = await registered('placed', { cluster_name: 'c', namespace: 'n', pod_name: 'p' });
    const sibling = new StubWorker(app.url, worker.token, { handle: 'placed' });
    await register(sibling, manifestOf('placed', { pod_name: 'p' }));
    expect(await show(worker)).toMatchObject({
      ...{
        cluster_name: 'c',
        namespace: 'n',
        pod_name: 'p',
        delivery: ['claim'],
        endpoint_url: null,
        direct: { last_result: null },
      },
      ids_of_process: [worker.id, sibling.id],
    });
  });
});

describe('the address that a worker offers', () => {
  it.each([
    ['https://worker.example', { endpoint_url: 'https://worker.example', direct: { last_result: null } }],
    [
      'http://10.0.0.1',
      { endpoint_url: 'http://10.0.0.1', direct: { last_result: expect.stringMatching(/^excluded: .*private/) } },
    ],
    [
      'no address at all',
      { endpoint_url: 'no address at all', direct: { last_result: 'excluded: it is no absolute URL' } },
    ],
    ['', { endpoint_url: null, direct: { last_result: null } }],
    [8010, { endpoint_url: null, direct: { last_result: 'its address is no text' } }],
    ['x'.repeat(2_001), { endpoint_url: null, direct: { last_result: expect.stringContaining('longer than') } }],
  ])('is kept and shown, or why it is not, and is no reason to refuse the worker: %p', async (said, shown) => {
    const worker = await registered(`offers-${typeof said}-${String(said).length}`, { endpoint_url: said });
    expect(await show(worker)).toMatchObject(shown);
    await register(worker, manifestOf(worker.handle));
    expect(await show(worker)).toMatchObject({ endpoint_url: null, direct: { last_result: null } });
  });
});

describe('the list of workers', () => {
  it('F-25: pages through workers of one moment, each exactly once', async () => {
    const other = await app.account();
    const token = await tokenFor(app, other, 'many');
    const workers = Array.from({ length: 25 }, () => new StubWorker(app.url, token, { handle: 'many' }));
    for (const worker of workers) await register(worker, manifestOf('many'));
    await app.database.query(`UPDATE worker SET first_seen_at = '2026-01-01 12:00:00.123456Z' WHERE account_id = $1`, [
      other.accountId,
    ]);
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const page = await list(`limit=10${cursor}`, other.key);
      seen.push(...page.ids);
      const next = page.headers.get('x-next-cursor');
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen)).toEqual(new Set(workers.map(({ id }) => id)));
    expect((await list('cursor=nonsense', other.key)).json).toMatchObject({
      code: 'input.invalid',
      detail: [{ loc: ['query', 'cursor'] }],
    });
  });

  it('filters by agent, state and text, and takes no character of the text for a pattern', async () => {
    const worker = await registered('filtered', { pod_name: '100%_pod' });
    const [agent] = (await app.call('GET', '/api/v1/agents/filtered', { key: account.key })).json.instances;
    expect(agent.worker_id).toBe(worker.id);
    const { agent_id } = await show(worker);
    for (const query of [
      'agent_id=filtered',
      `agent_id=${agent_id}`,
      'q=100%25_POD',
      'agent_id=filtered&state=online',
    ]) {
      expect((await list(query)).ids).toEqual([worker.id]);
    }
    for (const query of [
      'agent_id=nobody',
      'q=100_%25pod',
      'agent_id=filtered&state=offline',
      'agent_id=filtered&q=%25',
    ]) {
      const { ids } = await list(query);
      expect({ query, ids }).toEqual({ query, ids: query.endsWith('q=%25') ? [worker.id] : [] });
    }
  });

  it('K-2: leaves out who only opened a channel', async () => {
    const stranger = await workerOf('stranger');
    const channel = await openChannel(app.url, stranger);
    expect(channel.status).toBe(200);
    await eventually(async () => {
      const rows = await app.database.query(`SELECT 1 FROM worker WHERE id = $1 AND channel_nonce IS NOT NULL`, [
        stranger.id,
      ]);
      expect(rows).toHaveLength(1);
    });
    expect((await list('limit=500')).ids).not.toContain(stranger.id);
    expect((await app.call('GET', `/api/v1/workers/${stranger.id}`, { key: account.key })).json.code).toBe(
      'worker.not_found',
    );
    channel.close();
  });

  it('a foreign account’s worker reads exactly like none', async () => {
    const worker = await registered('guarded');
    const other = await app.account();
    const ask = async (id: string) => {
      const { status, json } = await app.call('GET', `/api/v1/workers/${id}`, { key: other.key });
      return { status, ...json, request_id: '' };
    };
    expect(await ask(worker.id)).toEqual(await ask('wrk_unknown'));
  });
});

describe('forgetting a worker', () => {
  const forget = ({ id }: { readonly id: string }, key = account.key) =>
    app.call('DELETE', `/api/v1/workers/${id}`, { key });
  const silence = async ({ id }: { readonly id: string }) => {
    await app.nest.get(Presence).flush();
    await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '10 min' WHERE id = $1`, [id]);
  };

  it('is refused while it is online, or holds a run; then it is gone, with what was asked of it, and on record', async () => {
    const worker = await registered('forgettable');
    await app.call('POST', `/api/v1/workers/${worker.id}/actions`, { key: account.key, body: { action: 'pause' } });
    await app.call('POST', `/api/v1/workers/${worker.id}/actions`, { key: account.key, body: { action: 'resume' } });
    expect(await forget(worker)).toMatchObject({ status: 409, json: { code: 'worker.online' } });
    await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'forgettable', input: {} } });
    const job = await worker.claim();
    await worker.start(job.run_id);
    await silence(worker);
    expect(await forget(worker)).toMatchObject({
      status: 409,
      json: { code: 'worker.online', detail: expect.stringContaining('holds a run') },
    });
    await worker.complete(job.run_id, { text: 'done' });
    await silence(worker);
    expect((await forget(worker)).status).toBe(204);
    expect((await forget(worker)).status).toBe(404);
    expect((await list('agent_id=forgettable')).ids).toEqual([]);
    expect((await app.call('GET', `/api/v1/workers/${worker.id}/actions`, { key: account.key })).status).toBe(404);
    expect(await app.database.query(`SELECT 1 FROM worker_action WHERE worker_id = $1`, [worker.id])).toEqual([]);
    const run = await app.call('GET', `/api/v1/runs/${job.run_id}`, { key: account.key });
    expect(run.json).toMatchObject({ status: 'succeeded', worker_id: worker.id });
    const rows = await app.database.query(
      `SELECT outcome FROM audit_entry WHERE action = 'worker.forget' AND target_id = $1 ORDER BY at`,
      [worker.id],
    );
    expect(rows.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'done', 'failed']);
  });

  it('is for operators: no worker forgets another, and no other account', async () => {
    const worker = await registered('unforgotten');
    await silence(worker);
    expect((await forget(worker, worker.token)).status).toBe(403);
    expect((await forget(worker, (await app.account()).key)).json.code).toBe('worker.not_found');
    expect((await show(worker)).worker_id).toBe(worker.id);
  });
});

it('workers that were silent for a week are forgotten, unless they hold a run', async () => {
  const [silent, holder] = [await registered('forgotten'), await registered('remembered')];
  await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'remembered', input: {} } });
  await holder.claim();
  await app.nest.get(Presence).flush();
  await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '8 days' WHERE id = ANY ($1)`, [
    [silent.id, holder.id],
  ]);
  await app.nest.get(Sweeper).now('workers.forget');
  const rows = await app.database.query(`SELECT id FROM worker WHERE id = ANY ($1)`, [[silent.id, holder.id]]);
  expect(rows).toEqual([{ id: holder.id }]);
});
