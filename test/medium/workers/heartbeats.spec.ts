import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Presence } from '../../../src/workers/index.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/rest.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import { beat, firstManifestOf, manifestOf, register, workerOf as mint, type Account } from './wire.ts';

const WINDOW_SECONDS = 3.5;
const env = { SIGNALBOX_HEARTBEAT_WINDOW_SECONDS: String(WINDOW_SECONDS) };
const SKILL = { skill_id: 'greet', name: 'Greet', description: 'says hello', content: '# Hello', md5: 'm' };
const HASH = { 'x-skills-hash': 'hash-of-greet' };

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env });
  account = await app.account();
});
afterAll(() => app.stop());

const workerOf = (handle: string, id?: string) => mint(app, account, handle, id);
const ask = async (path: string): Promise<Json> => (await app.call('GET', `/api/v1${path}`, { key: account.key })).json;
const show = (worker: StubWorker) => ask(`/workers/${encodeURIComponent(worker.id)}`);

async function row(worker: StubWorker): Promise<Json> {
  await app.nest.get(Presence).flush();
  const [found] = await app.database.query('SELECT *, xmin::text AS revision FROM worker WHERE id = $1', [worker.id]);
  return found;
}

/** What heartbeats may change: the agent, its versions, its worker's words, and the record. */
async function written(worker: StubWorker): Promise<Json> {
  const [found] = await app.database.query(
    `SELECT (SELECT xmin::text FROM agent WHERE handle = $2) AS agent, registered_at,
            (SELECT count(*)::int FROM agent_generation AS g JOIN agent ON agent.id = g.agent_id WHERE agent.handle = $2) AS versions,
            (SELECT count(*)::int FROM audit_entry WHERE target_id = $1) AS record
       FROM worker WHERE id = $1`,
    [worker.id, worker.handle],
  );
  return found;
}

describe('a first heartbeat', () => {
  it('K-2 K-3 K-59: makes the worker and its agent, by nothing but the token', async () => {
    const worker = await workerOf('first');
    expect((await show(worker)).code).toBe('worker.not_found');
    const { status, json } = await beat(app, worker);
    expect(status).toBe(200);
    expect(json).toEqual({
      agent_id: expect.stringMatching(/^agent_/),
      worker_id: worker.id,
      status: 'online',
      last_heartbeat_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      mcp_group_name: null,
    });
    expect(await ask('/agents/first')).toMatchObject({
      agent_id: json.agent_id,
      status: 'online',
      presence: { window_seconds: WINDOW_SECONDS },
    });
    expect(await show(worker)).toMatchObject({
      agent_id: json.agent_id,
      dialect: '0.1',
      endpoint_url: 'http://127.0.0.1:8010',
      presence: { last_path: 'heartbeat', window_seconds: WINDOW_SECONDS },
      slots: { total: 1, busy: 0 },
    });
    expect((await written(worker)).record).toBe(1);
  });

  it('§0: of a program that names version 2 of the protocol is one of a worker that reads frames', async () => {
    const worker = await workerOf('second-dialect');
    await beat(app, worker, firstManifestOf('second-dialect', { wire_protocol_version: 2, agent_card: {} }));
    expect(await show(worker)).toMatchObject({ dialect: '0.2', presence: { window_seconds: 90 } });
  });

  it('who registers by a frame reads frames, even without naming a version', async () => {
    const worker = await workerOf('framed');
    await register(worker, manifestOf('framed', { wire_protocol_version: undefined }));
    expect(await show(worker)).toMatchObject({ dialect: '0.2' });
  });

  it('A15 K-8: for another agent is 403 on record and changes nothing; a name that no agent has is shown', async () => {
    const owner = await workerOf('heart-owner', 'heart-shared');
    await beat(app, owner);
    const before = await row(owner);
    const thief = await workerOf('heart-thief', 'heart-shared');
    expect((await beat(app, thief, firstManifestOf('heart-owner'))).json).toMatchObject({ code: 'worker.wrong_agent' });
    expect(await beat(app, thief)).toMatchObject({ status: 403, json: { code: 'worker.id_taken' } });
    expect(await row(owner)).toEqual(before);
    expect((await ask('/agents/heart-thief')).code).toBe('agent.not_found');
    const refusals = await app.database.query(
      `SELECT detail ->> 'code' AS code FROM audit_entry WHERE target_id = 'heart-shared' AND outcome = 'refused' ORDER BY at`,
    );
    expect(refusals).toEqual([{ code: 'worker.wrong_agent' }, { code: 'worker.id_taken' }]);
    const own = await workerOf('heart-thief');
    expect((await beat(app, own, firstManifestOf('some-slug'))).status).toBe(200);
    expect(await show(own)).toMatchObject({ claimed_handle: 'some-slug', agent_name: 'some-slug' });
  });

  it('N-2 K-12: of a fresh worker leaves a disabled agent disabled', async () => {
    await beat(app, await workerOf('kept-off'));
    await app.database.query(`UPDATE agent SET is_enabled = false WHERE handle = 'kept-off'`);
    const token = await workerOf('kept-off'); // a new token, a new worker id
    expect((await beat(app, token)).status).toBe(200);
    expect(await ask('/agents/kept-off')).toMatchObject({ is_enabled: false });
  });
});

describe('a heartbeat that says nothing new', () => {
  it('leaves no row but the sign of life, on every replica', async () => {
    const other = await startApp({ env, database: app.database });
    try {
      const worker = await workerOf('same');
      await beat(app, worker);
      const before = await written(worker);
      const seen = (await row(worker)).last_seen_at;
      for (const replica of [app, app, other, other, app]) expect((await beat(replica, worker)).status).toBe(200);
      expect(await written(worker)).toEqual(before);
      expect((await row(worker)).last_seen_at.getTime()).toBeGreaterThan(seen.getTime());
    } finally {
      await other.stop();
    }
  });

  it('costs no statement: it is answered while the database is away, and one that says something new is not', async () => {
    let proxy: DatabaseProxy | undefined;
    const cut = await startApp({
      database: app.database,
      env,
      via: async (url) => {
        const opened = await DatabaseProxy.before(url);
        proxy = opened.proxy;
        return opened.url;
      },
    });
    try {
      const worker = await workerOf('cut');
      await beat(cut, worker);
      await proxy?.close();
      for (let time = 0; time < 5; time += 1) expect((await beat(cut, worker)).status).toBe(200);
      expect((await beat(cut, worker, firstManifestOf('cut', { version: '2' }))).status).toBe(503);
    } finally {
      await cut.stop();
    }
  });

  it('keeps the skills that were said before, and makes no version of the agent', async () => {
    const worker = await workerOf('skilled');
    const skills = async (): Promise<Json> => {
      const [found] = await app.database.query<{ skills: Json }>(
        `SELECT skills FROM agent_generation AS g JOIN agent AS a ON a.id = g.agent_id AND a.generation = g.generation WHERE a.handle = 'skilled'`,
      );
      return found?.skills;
    };
    const say = (said: unknown, headers = HASH) =>
      beat(app, worker, firstManifestOf('skilled', { skills: said }), headers);
    await say([SKILL]);
    const before = await written(worker);
    const had = await skills();
    expect(had).toEqual([SKILL]);
    for (const said of [null, null, undefined, [SKILL]]) expect((await say(said)).status).toBe(200);
    expect(await written(worker)).toEqual(before);
    await app.nest.get(Presence).flush();
    expect(await skills()).toEqual(had);
    await say(null, { 'x-skills-hash': 'another' });
    expect(await skills()).toEqual(had);
    await say([], { 'x-skills-hash': 'none' });
    expect(await skills()).toEqual([]);
  });

  it.each([[[1]], [['a', null, [1]]], [[SKILL, 7]]])(
    'takes what is no skill among them as not said: %j',
    async (said) => {
      const worker = await workerOf('oddly-skilled');
      expect((await beat(app, worker, firstManifestOf('oddly-skilled', { skills: said }), {})).status).toBe(200);
    },
  );

  it('shows the user name and the password of an address to nobody', async () => {
    const worker = await workerOf('open');
    const told = firstManifestOf('open', { endpoint_url: 'http://user:hush-hush@10.0.0.1:8010' });
    expect((await beat(app, worker, told)).status).toBe(200);
    const rows = await app.database.query(
      'SELECT to_json(w)::text AS row FROM worker AS w UNION ALL SELECT to_json(g)::text FROM agent_generation AS g',
    );
    expect(JSON.stringify(rows)).not.toContain('hush-hush');
    expect(JSON.stringify(rows)).toContain('***@10.0.0.1:8010');
  });

  it('K-4: one that says something new is what counts from then on', async () => {
    const worker = await workerOf('renamed');
    for (const name of ['One', 'Two']) {
      await beat(app, worker, firstManifestOf('renamed', { name, agent_card: { name, version: name } }));
      expect(await ask('/agents/renamed')).toMatchObject({ name, agent_card: { version: name } });
    }
    expect((await ask('/agents/renamed')).generation ?? (await show(worker)).generation).toBe(2);
  });

  it('makes no worker anew that was told to drain, until it was away', async () => {
    const worker = await workerOf('drained');
    await beat(app, worker);
    const mode = async (): Promise<string> => (await show(worker)).mode;
    await app.call('POST', `/api/v1/workers/${worker.id}/actions`, { key: account.key, body: { action: 'drain' } });
    const other = await startApp({ env, database: app.database });
    try {
      for (const replica of [app, other]) await beat(replica, worker);
      expect(await mode()).toBe('draining');
    } finally {
      await other.stop();
    }
    await app.nest.get(Presence).flush();
    await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '1 hour' WHERE id = $1`, [worker.id]);
    const fresh = await startApp({ env, database: app.database });
    try {
      await beat(fresh, worker);
      expect(await mode()).toBe('normal');
    } finally {
      await fresh.stop();
    }
  });
});

describe('the window of a worker that sends heartbeats', () => {
  it('K-6: one that is left out makes no agent flap; when no more come it is offline, and so is the agent', async () => {
    const worker = await workerOf('flap');
    const seen = new Set<string>();
    const watchFor = async (milliseconds: number): Promise<void> => {
      for (const until = Date.now() + milliseconds; Date.now() < until; await pause(100)) {
        seen.add((await ask('/agents/flap')).status);
        seen.add((await show(worker)).state);
      }
    };
    for (const gap of [1_000, 2_000, 1_000]) {
      await beat(app, worker);
      await watchFor(gap);
    }
    expect([...seen]).toEqual(['online']);
    await eventually(async () => expect((await ask('/agents/flap')).status).toBe('offline'));
    expect(await show(worker)).toMatchObject({ state: 'offline', excluded_by: 'worker.offline' });
    const tokens: Json[] = await ask('/agents/worker-tokens');
    expect(JSON.stringify(tokens.find((one) => JSON.stringify(one).includes('"flap"')))).toContain('"offline"');
  });

  it('is the one that is configured now, also for workers that came before', async () => {
    const worker = await workerOf('rewound');
    await beat(app, worker);
    const longer = await startApp({ env: { SIGNALBOX_HEARTBEAT_WINDOW_SECONDS: '50' }, database: app.database });
    try {
      const before = await written(worker);
      await beat(longer, worker);
      expect((await show(worker)).presence.window_seconds).toBe(50);
      expect(await written(worker)).toEqual(before);
    } finally {
      await longer.stop();
    }
  });

  it('who is forgotten while it was lost is taken in again by its next heartbeat', async () => {
    const quick = await startApp({ env: { ...env, SIGNALBOX_CLOSED_LOST_SECONDS: '0.5' }, database: app.database });
    try {
      const worker = await workerOf('forgotten');
      await beat(quick, worker);
      await quick.nest.get(Presence).flush();
      await app.database.query(
        `UPDATE worker SET channel_opened_at = now() - interval '9 s', channel_closed_at = now() - interval '5 s', channel_closed_by = 'worker',
                last_seen_at = now() - interval '1 s' WHERE id = $1`,
        [worker.id],
      );
      await pause(600);
      const { status } = await quick.call('DELETE', `/api/v1/workers/${worker.id}`, { key: account.key });
      expect(status).toBe(204);
      expect((await beat(quick, worker)).status).toBe(200);
      expect(await show(worker)).toMatchObject({ worker_id: worker.id, state: 'online' });
    } finally {
      await quick.stop();
    }
  });
});

describe('a heartbeat is refused', () => {
  it.each<[string, unknown, string]>([
    ['that is no object', 'x', 'body.agent'],
    ['that is a list', [], 'body.agent'],
    ['that is null', null, 'body.agent'],
    [
      'that holds text that cannot be kept',
      firstManifestOf('bad', { description: 'a\u0000b' }),
      'body.agent.description',
    ],
    ['that is nested without end', firstManifestOf('bad', { labels: nest(200) }), 'body.agent'],
  ])('with an agent %s, naming the place', async (_what, agent, place) => {
    const worker = await workerOf(`bad-${place.length}-${typeof agent}`);
    const { status, json } = await beat(app, worker, agent);
    expect([status, json.code]).toEqual([422, 'input.invalid']);
    expect(json.detail.map(({ loc }: Json) => loc.join('.'))).toContain(place);
    expect((await ask(`/agents/${worker.handle}`)).code).toBe('agent.not_found');
  });

  it('under a name that stands for something else, or with a token that is dead', async () => {
    const reserved = await workerOf('reserved', 'slack-subscriptions');
    expect((await beat(app, reserved)).status).toBe(422);
    const worker = await workerOf('rotated');
    await beat(app, worker);
    await workerOf('rotated');
    expect((await beat(app, worker)).status).toBe(401);
  });

  it.each([['a\u0000b'], ['\ud800'], [{ deep: nest(300) }], [[1]], ['x'.repeat(5_000)], ['gopher://nowhere']])(
    'for no address, whatever stands there',
    async (endpoint_url) => {
      const worker = await workerOf('anywhere');
      const { status } = await beat(app, worker, firstManifestOf('anywhere', { endpoint_url }));
      expect(status).toBe(200);
      expect((await register(worker, manifestOf('anywhere', { endpoint_url }))).status).toBe(200);
      const shown = await show(worker);
      expect(shown.endpoint_url === null ? shown.direct.last_result : shown.endpoint_url).toEqual(expect.any(String));
    },
  );
});

describe('what SDK 0.1 asks for beside', () => {
  it('A17 A18: nothing is connected, and nobody listens to Slack', async () => {
    const { token } = await workerOf('beside');
    const get = (path: string) => app.call('GET', `/api/v1/workers/${path}`, { key: token });
    expect(await get('slack-subscriptions')).toMatchObject({ status: 200, json: { subscriptions: [] } });
    expect(await get('integrations/github/token')).toMatchObject({
      status: 404,
      json: { code: 'worker.not_connected', detail: expect.any(String) },
    });
  });
});

function nest(levels: number): object {
  let deep: object = {};
  for (let level = 0; level < levels; level += 1) deep = { deep };
  return deep;
}
