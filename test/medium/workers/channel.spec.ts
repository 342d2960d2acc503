import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { Channels } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker, pause } from '../../support/stub-worker.ts';
import {
  manifestOf,
  openChannel,
  register,
  tell,
  tokenFor,
  workerOf as mint,
  type Account,
  type OpenedChannel,
} from './wire.ts';

const PING_SECONDS = 0.4;
const env = {
  SIGNALBOX_CHANNEL_PING_SECONDS: String(PING_SECONDS),
  SIGNALBOX_STREAM_BACKLOG_BYTES: String(256 * 1024),
};

let app: RunningApp;
let other: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env });
  other = await startApp({ env, database: app.database });
  account = await app.account();
});
afterAll(async () => {
  await other.stop();
  await app.stop();
});

const workerOf = (handle: string, id?: string) => mint(app, account, handle, id);

async function registered(handle: string): Promise<StubWorker & { readonly agentId: string }> {
  const worker = await workerOf(handle);
  const { payload } = await register(worker, manifestOf(handle));
  return Object.assign(worker, { agentId: payload.agent_id as string });
}

async function row(workerId: string): Promise<Json> {
  const [found] = await app.database.query(`SELECT * FROM worker WHERE id = $1`, [workerId]);
  return found;
}

/** The channel is open and its row says so. */
async function recorded(url: string, worker: StubWorker): Promise<OpenedChannel> {
  const { channel_nonce: before } = (await row(worker.id)) ?? {};
  const channel = await openChannel(url, worker);
  await eventually(async () => expect(((await row(worker.id)) ?? {}).channel_nonce ?? before).not.toBe(before));
  return channel;
}

describe('a channel', () => {
  it('K-23: is an event stream for any id, with a byte at once and a ping each period', async () => {
    const worker = await workerOf('pinged');
    const channel = await openChannel(app.url, worker);
    expect(channel.status).toBe(200);
    expect(channel.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      'cache-control': 'no-cache, no-transform',
    });
    expect(channel.headers['content-encoding']).toBeUndefined();
    await eventually(() => expect(channel.text).toMatch(/^: /));
    await pause(PING_SECONDS * 1_000 * 4.5);
    const pings = channel.of('ping');
    expect(pings.length).toBeGreaterThanOrEqual(3);
    expect(pings.length).toBeLessThanOrEqual(5);
    const { channel_replica } = await row(worker.id);
    for (const ping of pings) {
      expect(Object.keys(ping).sort()).toEqual(['id', 'needsReply', 'payload', 'type']);
      expect(ping.payload.nonce).toMatch(new RegExp(`^${channel_replica}\\.\\d+$`));
    }
    expect(new Set(pings.map(({ payload }) => payload.nonce)).size).toBe(pings.length);
    channel.close();
  });

  it('a pong counts for the worker whichever replica hears it', async () => {
    const worker = await registered('ponged');
    const channel = await recorded(app.url, worker);
    await eventually(() => expect(channel.of('ping')).not.toEqual([]));
    const elsewhere = new StubWorker(other.url, worker.token, { handle: 'ponged', workerId: worker.id });
    await tell(elsewhere, 'pong', { nonce: channel.of('ping')[0].payload.nonce });
    const { json } = await other.call('GET', `/api/v1/workers/${worker.id}`, { key: account.key });
    expect(json).toMatchObject({ lights: { channel: { state: 'ok' } }, presence: { last_path: 'pong' } });
    channel.close();
  });

  it('worker-protocol §23.4: carries every frame as one line, whatever is in it', async () => {
    const worker = await registered('lines');
    const channel = await openChannel(app.url, worker);
    const payload = { run_id: 'r\u2028\u2029\u0085\n"' };
    expect(app.nest.get(Channels).send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload })).toBe(true);
    await eventually(() => expect(channel.of('cancel')).toEqual([{ id: 'm', type: 'cancel', payload }]));
    expect(channel.text).not.toMatch(/[\u2028\u2029\u0085]/);
    channel.close();
    await eventually(() =>
      expect(app.nest.get(Channels).send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload })).toBe(
        false,
      ),
    );
  });

  it('leaves in the row when it opened, where, and who closed it', async () => {
    const worker = await registered('rows');
    const channel = await recorded(app.url, worker);
    expect(await row(worker.id)).toMatchObject({
      channel_replica: expect.stringMatching(/^rep_/),
      channel_opened_at: expect.any(Date),
      channel_closed_at: null,
    });
    channel.close();
    await eventually(async () =>
      expect(await row(worker.id)).toMatchObject({ channel_closed_at: expect.any(Date), channel_closed_by: 'worker' }),
    );
    const again = await recorded(app.url, worker);
    expect(await row(worker.id)).toMatchObject({ channel_closed_at: null, channel_closed_by: null });
    again.close();
  });

  it('is rung when it opens and the agent has a queued run', async () => {
    const worker = await registered('waiting');
    await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'waiting', input: {} } });
    const channel = await openChannel(other.url, worker);
    await eventually(() =>
      expect(channel.of('work_available')).toMatchObject([{ payload: { agent_id: worker.agentId } }]),
    );
    channel.close();
  });
});

describe('the newest channel of a worker id', () => {
  it('wins on its own replica at once, and the older one ends without a word', async () => {
    const worker = await registered('newest');
    const older = await openChannel(app.url, worker);
    const newer = await openChannel(app.url, worker);
    await eventually(() => expect(older.isOver).toBe(true), { within: 2_000 });
    expect(older.text.replaceAll(/event: frame\ndata: \{[^\n]*"type":"ping"[^\n]*\n\n/g, '')).toBe(': keep-alive\n\n');
    expect(app.nest.get(Channels).send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload: {} })).toBe(
      true,
    );
    await eventually(() => expect(newer.of('cancel')).toHaveLength(1));
    newer.close();
  });

  it('wins across replicas', async () => {
    const worker = await registered('roaming');
    const here = await recorded(app.url, worker);
    const there = await recorded(other.url, worker);
    await eventually(() => expect(here.isOver).toBe(true), { within: 2_000 });
    const back = await recorded(app.url, worker);
    await eventually(() => expect(there.isOver).toBe(true), { within: 2_000 });
    await pause(200);
    expect(back.isOver).toBe(false);
    expect(await row(worker.id)).toMatchObject({ channel_closed_at: null });
    back.close();
  });

  it('wins also when the poke was lost', async () => {
    const worker = await registered('unheard');
    const here = await recorded(app.url, worker);
    await app.database.query(
      `UPDATE worker SET channel_nonce = 'rep_other.1', channel_replica = 'rep_other', channel_opened_at = now() WHERE id = $1`,
      [worker.id],
    );
    await app.nest.get(Sweeper).now('channels.check');
    await eventually(() => expect(here.isOver).toBe(true));
  });

  it('K-8: is none of another agent’s: neither here nor on another replica does it take a worker’s channel', async () => {
    const worker = await registered('owner');
    const channel = await recorded(app.url, worker);
    const thief = await workerOf('thief', worker.id);
    expect(await openChannel(app.url, thief)).toMatchObject({ status: 403 });
    const elsewhere = await openChannel(other.url, thief);
    await eventually(() => expect(elsewhere.isOver).toBe(true));
    expect(channel.isOver).toBe(false);
    expect(app.nest.get(Channels).send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload: {} })).toBe(
      true,
    );
    await eventually(() => expect(channel.of('cancel')).toHaveLength(1));
    channel.close();
  });

  it('K-8: a squatter’s channel ends when the id is registered', async () => {
    const squatter = await workerOf('squatter', 'coveted');
    const channel = await recorded(other.url, squatter);
    const owner = await workerOf('rightful', 'coveted');
    expect((await register(owner, manifestOf('rightful'))).status).toBe(200);
    await eventually(() => expect(channel.isOver).toBe(true), { within: 2_000 });
  });
});

describe('a token', () => {
  it('K-14: that is revoked ends its channels on every replica, and they cannot be opened again', async () => {
    const handle = 'revoked';
    const token = await tokenFor(app, account, handle);
    const [one, two] = [new StubWorker(app.url, token, { handle }), new StubWorker(other.url, token, { handle })];
    const channels = [await openChannel(app.url, one), await openChannel(other.url, two)];
    await app.call('DELETE', `/api/v1/agents/${handle}/token`, { key: account.key });
    await eventually(() => expect(channels.map(({ isOver }) => isOver)).toEqual([true, true]), { within: 2_000 });
    expect(await openChannel(app.url, one)).toMatchObject({ status: 401 });
    expect(await openChannel(other.url, two)).toMatchObject({ status: 401 });
    for (const { text } of channels) expect(text).not.toMatch(/event: (?!frame)/);
  });

  it('K-14: that another took the place of ends its channels, and not those of others', async () => {
    const [rotated, bystander] = [await registered('rotated'), await registered('bystander')];
    const [channel, untouched] = [await openChannel(app.url, rotated), await openChannel(app.url, bystander)];
    await tokenFor(app, account, 'rotated');
    await eventually(() => expect(channel.isOver).toBe(true), { within: 2_000 });
    expect(untouched.isOver).toBe(false);
    untouched.close();
  });

  it('that runs out ends its channels, though nobody said so', async () => {
    const { json } = await app.call('POST', '/api/v1/agents/worker-token', {
      key: account.key,
      body: { agentId: 'short', ttlSeconds: 1 },
    });
    const channel = await openChannel(app.url, new StubWorker(app.url, json.token, { handle: 'short' }));
    expect(channel.status).toBe(200);
    await eventually(() => expect(channel.isOver).toBe(true), { within: 8_000 });
  });
});

describe('a doorbell', () => {
  it('rings as many free workers as are wanted, one after the other, and no busy one', async () => {
    const channels = app.nest.get(Channels);
    const { accountId } = account;
    const first = await registered('rung');
    const workers = [
      first,
      new StubWorker(app.url, first.token, { handle: 'rung' }),
      new StubWorker(app.url, first.token, { handle: 'rung' }),
    ];
    const opened: OpenedChannel[] = [];
    for (const worker of workers) opened.push(await openChannel(app.url, worker));
    const rings = () => opened.map((channel) => channel.of('work_available').length);
    const ring = (atMost: number) => channels.ring(accountId, first.agentId, atMost);

    expect([ring(0), ring(1), ring(1), ring(5), ring(5)]).toEqual([0, 1, 1, 1, 0]); // a worker that was just rung has to claim first
    await eventually(() => expect(rings()).toEqual([1, 1, 1]));
    for (const worker of workers) await tell(worker, 'run_claim');
    channels.noteBusy(accountId, first.id);
    expect(ring(5)).toBe(2);
    channels.noteFree(accountId, first.id);
    expect(ring(5)).toBe(1);
    await eventually(() => expect(rings()).toEqual([2, 2, 2]));
    expect(channels.agentsHere()).toContainEqual(expect.objectContaining({ accountId, agentId: first.agentId }));
    for (const channel of opened) channel.close();
    await eventually(() =>
      expect(channels.agentsHere()).not.toContainEqual(expect.objectContaining({ agentId: first.agentId })),
    );
  });

  it('worker-protocol §23.8: that no claim follows is repeated more and more seldom', async () => {
    const worker = await registered('deaf');
    const channel = await openChannel(app.url, worker);
    const channels = app.nest.get(Channels);
    const rungAt: number[] = [];
    while (rungAt.length < 3) {
      if (channels.ring(account.accountId, worker.agentId, 1) > 0) rungAt.push(performance.now());
      await pause(50);
    }
    const [first = 0, second = 0, third = 0] = rungAt; // at once, after 1 s, after 2 s more
    expect([second - first > 950, third - second > 1_950]).toEqual([true, true]);
    channel.close();
  });
});

describe('many channels', () => {
  it('U-62: a thousand hold no database connection, and the interface answers', async () => {
    const token = await tokenFor(app, account, 'thousand');
    const channels = app.nest.get(Channels);
    const before = channels.all().length;
    const opened: OpenedChannel[] = [];
    for (let batch = 0; batch < 20; batch += 1) {
      const workers = Array.from({ length: 50 }, () => new StubWorker(app.url, token, { handle: 'thousand' }));
      opened.push(...(await Promise.all(workers.map((worker) => openChannel(app.url, worker)))));
    }
    expect(opened.filter(({ status }) => status === 200)).toHaveLength(1_000);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => app.call('GET', '/api/v1/agents', { key: account.key })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    const connections = await app.database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend'`,
    );
    expect(connections.length).toBeLessThanOrEqual(2 * 16 + 2);
    await eventually(() =>
      expect(channels.all().filter(({ isRecorded }) => isRecorded).length).toBeGreaterThanOrEqual(1_000),
    );
    for (const channel of opened) channel.close();
    await eventually(() => expect(channels.all().length).toBe(before));
  }, 40_000);

  it('F-39: a reader that does not read is cut off once it is too far behind, and nothing of it stays', async () => {
    const worker = await registered('stuck');
    const channel = await recorded(app.url, worker);
    channel.pause();
    const channels = app.nest.get(Channels);
    const payload = { filler: 'x'.repeat(64 * 1024) };
    let sent = 0;
    while (sent < 1_000 && channels.send(account.accountId, worker.id, { id: 'm', type: 'cancel', payload })) sent += 1;
    expect(sent).toBeLessThan(1_000);
    await eventually(async () => expect(await row(worker.id)).toMatchObject({ channel_closed_by: 'us' }));
    expect(channels.all().map(({ workerId }) => workerId)).not.toContain(worker.id);
    channel.close();
  });

  it('F-39: opened and closed a thousand times leave nothing behind', async () => {
    const token = await tokenFor(app, account, 'flapping');
    const channels = app.nest.get(Channels);
    const before = channels.all().length;
    for (let round = 0; round < 20; round += 1) {
      const workers = Array.from(
        { length: 50 },
        (_, index) => new StubWorker(app.url, token, { handle: 'flapping', workerId: `flapping-${index}` }),
      );
      const opened = await Promise.all(workers.map((worker) => openChannel(app.url, worker)));
      for (const channel of opened) channel.close();
    }
    await eventually(() => expect(channels.all().length).toBe(before));
    await eventually(async () => {
      const rows = await app.database.query(
        `SELECT 1 FROM worker WHERE id LIKE 'flapping-%' AND channel_closed_at IS NULL`,
      );
      expect(rows).toEqual([]);
    });
  }, 40_000);
});

describe('the end of a replica', () => {
  it('F-39: a hundred readers that do not read hold up no shutdown; their channels were closed by us', async () => {
    const third = await startApp({ env: { ...env, SIGNALBOX_DRAIN_SECONDS: '1' }, database: app.database });
    const token = await tokenFor(app, account, 'frozen');
    const workers = Array.from(
      { length: 100 },
      (_, index) => new StubWorker(third.url, token, { handle: 'frozen', workerId: `frozen-${index}` }),
    );
    const opened = await Promise.all(workers.map((worker) => openChannel(third.url, worker)));
    for (const channel of opened) channel.pause();
    await eventually(async () => {
      const rows = await app.database.query(
        `SELECT 1 FROM worker WHERE id LIKE 'frozen-%' AND channel_nonce IS NOT NULL`,
      );
      expect(rows).toHaveLength(100);
    });
    const began = performance.now();
    await third.stop();
    expect(performance.now() - began).toBeLessThan(10_000);
    const rows = await app.database.query(`SELECT DISTINCT channel_closed_by FROM worker WHERE id LIKE 'frozen-%'`);
    expect(rows).toEqual([{ channel_closed_by: 'us' }]);
    for (const channel of opened) channel.close();
  }, 30_000);

  it('the channels of one that died are closed in the rows', async () => {
    const worker = await registered('orphan');
    await app.database.query(
      `UPDATE worker SET channel_replica = 'rep_dead', channel_nonce = 'rep_dead.1', channel_opened_at = now(), channel_closed_at = NULL WHERE id = $1`,
      [worker.id],
    );
    await app.nest.get(Sweeper).now('channels.bury');
    expect(await row(worker.id)).toMatchObject({ channel_closed_by: 'us' });
  });
});
