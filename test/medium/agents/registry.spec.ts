import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { startApp, type RunningApp } from '../../support/app.ts';
import { eventually } from '../../support/rest.ts';
import { StubWorker } from '../../support/stub-worker.ts';
import { manifestOf, register, tell, tokenFor, workerOf as mint, type Account } from '../workers/wire.ts';

let app: RunningApp;
let account: Account;

beforeAll(async () => {
  app = await startApp({ env: { SIGNALBOX_PRESENCE_WINDOW_SECONDS: '2' } });
  account = await app.account();
});
afterAll(() => app.stop());

const workerOf = (handle: string, id?: string) => mint(app, account, handle, id);

async function agent(ref: string, key = account.key) {
  return app.call('GET', `/api/v1/agents/${ref}`, { key });
}

async function audited(workerId: string) {
  return app.database.query<{ outcome: string; detail: { code?: string } }>(
    `SELECT outcome, detail FROM audit_entry WHERE action = 'worker.register' AND target_id = $1 ORDER BY at, id`,
    [workerId],
  );
}

describe('a registration', () => {
  it('K-1 K-2: makes the agent, and the next registration with another manifest makes it what that one says', async () => {
    const worker = await workerOf('follows');
    expect((await agent('follows')).status).toBe(404);
    const { status, type, payload } = await register(
      worker,
      manifestOf('follows', { labels: { team: 'x' }, tools: ['a', 'b'], model: 'm' }),
    );
    expect(status).toBe(200);
    expect({ type, payload }).toMatchObject({
      type: 'worker_state',
      payload: { worker_id: worker.id, status: 'online' },
    });
    const first = (await agent('follows')).json;
    expect(first).toMatchObject({
      ...{
        agent_id: payload.agent_id,
        id_slug: 'follows',
        status: 'online',
        version: '1.0.0',
        model: 'm',
        tools: ['a', 'b'],
      },
      ...{
        labels: { team: 'x' },
        is_enabled: true,
        is_archived: false,
        instances_total: 1,
        instances_free: 1,
        instances_busy: 0,
      },
    });
    expect(first.instances).toMatchObject([
      { worker_id: worker.id, is_online: true, busy: false, generation: 1, sdk_version: '0.4.13' },
    ]);

    await register(worker, manifestOf('follows', { version: '2.0.0', tools: ['c'] }));
    const second = (await agent(first.agent_id)).json;
    expect(second).toMatchObject({ agent_id: first.agent_id, version: '2.0.0', tools: ['c'], labels: {}, model: null });
    expect(second.instances).toMatchObject([{ generation: 2 }]);
  });

  it('K-4: the same fingerprint is the same generation, also when the older version comes back', async () => {
    const worker = await workerOf('versions');
    for (const version of ['1', '2', '1', '3', '2']) await register(worker, manifestOf('versions', { version }));
    const rows = await app.database.query<{ generation: number; version: string }>(
      `SELECT g.generation, g.manifest ->> 'version' AS version FROM agent_generation AS g JOIN agent ON agent.id = g.agent_id
        WHERE agent.handle = 'versions' ORDER BY g.generation`,
    );
    expect(rows).toEqual([
      { generation: 1, version: '1' },
      { generation: 2, version: '2' },
      { generation: 3, version: '3' },
    ]);
    expect((await agent('versions')).json.instances).toMatchObject([{ generation: 2, version: '2' }]);
  });

  it('that says nothing new about the agent writes nothing to it and leaves no audit row', async () => {
    const one = await workerOf('same', 'same-1');
    await register(one, manifestOf('same', { pod_name: 'pod-1' }));
    const snapshot = async () => app.database.query(`SELECT xmin::text, updated_at FROM agent WHERE handle = 'same'`);
    const before = await snapshot();
    const other = new StubWorker(app.url, one.token, { handle: 'same', workerId: 'same-2' });
    await register(other, manifestOf('same', { pod_name: 'pod-2' }));
    expect(await snapshot()).toEqual(before);
    expect(await audited('same-1')).toMatchObject([{ outcome: 'done' }]);
    expect(await audited('same-2')).toEqual([]);
    expect((await agent('same')).json.instances).toMatchObject([{ pod_name: 'pod-1' }, { pod_name: 'pod-2' }]);
  });

  it('of twenty workers at once makes one agent of one generation', async () => {
    const token = await tokenFor(app, account, 'crowd');
    const workers = Array.from({ length: 20 }, () => new StubWorker(app.url, token, { handle: 'crowd' }));
    const answers = await Promise.all(workers.map((worker) => register(worker, manifestOf('crowd'))));
    expect(new Set(answers.map(({ status, payload }) => `${status} ${payload.agent_id}`)).size).toBe(1);
    expect((await agent('crowd')).json.instances_total).toBe(20);
    const rows = await app.database.query(
      `SELECT 1 FROM agent_generation JOIN agent ON agent.id = agent_id WHERE handle = 'crowd'`,
    );
    expect(rows).toHaveLength(1);
  });

  it('keeps what its operators decided about the agent', async () => {
    const worker = await workerOf('decided');
    await register(worker, manifestOf('decided'));
    await app.database.query(`UPDATE agent SET is_enabled = false, archived_at = now() WHERE handle = 'decided'`);
    await register(worker, manifestOf('decided', { version: '2' }));
    expect((await agent('decided')).json).toMatchObject({ version: '2', is_enabled: false, is_archived: true });
    const listed = async (query: string) =>
      (await app.call('GET', `/api/v1/agents${query}`, { key: account.key })).json;
    const handles = (agents: { id_slug: string }[]) => agents.map(({ id_slug }) => id_slug);
    expect(handles(await listed(''))).not.toContain('decided');
    expect(handles(await listed('?include_archived=true'))).toContain('decided');
  });

  it('K-8: that names another agent of the account is 403 on record, and changes neither agent', async () => {
    await register(await workerOf('victim', 'victim-1'), manifestOf('victim'));
    const impostor = await workerOf('impostor', 'impostor-1');
    const before = (await agent('victim')).json;
    for (const name of ['victim', before.agent_id]) {
      const refused = await register(impostor, manifestOf(name, { version: '6.6.6' }));
      expect(refused).toMatchObject({ status: 403, payload: { code: 'worker.wrong_agent' } });
    }
    expect((await agent('victim')).json).toMatchObject({
      version: before.version,
      instances: [{ worker_id: 'victim-1' }],
    });
    expect((await agent('impostor')).status).toBe(404);
    expect(await audited('impostor-1')).toMatchObject([
      { outcome: 'refused', detail: { code: 'worker.wrong_agent' } },
      { outcome: 'refused', detail: { code: 'worker.wrong_agent' } },
    ]);
  });

  it('K-8: that names an agent nobody has is the token’s, and the worker shows the difference', async () => {
    const worker = await workerOf('named-so');
    expect((await register(worker, manifestOf('an-author’s-name'))).status).toBe(200);
    expect((await agent('an-author’s-name')).status).toBe(404);
    expect((await agent('named-so')).json.instances).toMatchObject([{ worker_id: worker.id }]);
    const detail = await app.call('GET', `/api/v1/workers/${worker.id}`, { key: account.key });
    expect(detail.json).toMatchObject({ claimed_handle: 'an-author’s-name', agent_name: 'an-author’s-name' });
  });
});

describe('a schema', () => {
  it.each([
    ['refers to elsewhere', { $ref: 'https://schemas.example.test/x.json' }],
    ['is none', { type: 'no such type' }],
    ['is a list', ['type', 'object']],
    ['is too large', { description: 'x'.repeat(300 * 1024) }],
  ])('that %s refuses no registration and shows as the agent’s input_schema_error', async (what, input_schema) => {
    const handle = `schema-${what.replaceAll(' ', '-')}`;
    const worker = await workerOf(handle);
    expect((await register(worker, manifestOf(handle, { input_schema }))).status).toBe(200);
    expect((await agent(handle)).json.input_schema_error).toEqual(expect.any(String));
  });

  it('with a number that no double holds refuses no registration either', async () => {
    const worker = await workerOf('huge');
    const frame = {
      id: 'm',
      type: 'register',
      needsReply: true,
      payload: { manifest: manifestOf('huge', { input_schema: { maximum: '@' } }), skills: [] },
    };
    const body = JSON.stringify(frame).replace('"@"', '9223372036854775807');
    const answer = await app.call('POST', `/api/v1/workers/${worker.id}/frames`, { key: worker.token, body });
    expect(answer.status).toBe(200);
    expect((await agent('huge')).json.input_schema_error).toEqual(expect.any(String));
  });

  it('that holds is shown as it was sent, without an error', async () => {
    const worker = await workerOf('sound');
    const input_schema = {
      type: 'object',
      properties: { __proto__x: { type: 'string', pattern: '^a+$' } },
      $defs: { a: {} },
    };
    await register(worker, manifestOf('sound', { input_schema }));
    expect((await agent('sound')).json).toMatchObject({ input_schema, input_schema_error: null });
  });
});

describe('presence', () => {
  it('K-5: an agent goes offline and comes back by the age of what was heard, with no write to its row', async () => {
    const worker = await workerOf('quiet');
    await register(worker, manifestOf('quiet'));
    const xmin = async () =>
      app.database.query(
        `SELECT agent.xmin::text, worker.xmin::text AS worker FROM agent JOIN worker ON agent_id = agent.id WHERE handle = 'quiet'`,
      );
    expect((await agent('quiet')).json.status).toBe('online');
    const before = await xmin();
    await eventually(async () =>
      expect((await agent('quiet')).json).toMatchObject({ status: 'offline', instances_total: 0 }),
    );
    expect((await agent('quiet')).json.instances).toMatchObject([{ worker_id: worker.id, is_online: false }]);
    expect(await xmin()).toEqual(before);
    await tell(worker, 'keep_alive');
    expect((await agent('quiet')).json.status).toBe('online');
  });

  it.each(['keep_alive', 'pong', 'heartbeat', 'run_claim'])('K-2: a %s counts before it is written', async (type) => {
    const handle = `heard-${type}`;
    const worker = await workerOf(handle);
    await register(worker, manifestOf(handle));
    await app.database.query(`UPDATE worker SET last_seen_at = now() - interval '1 hour' WHERE id = $1`, [worker.id]);
    expect((await agent(handle)).json.status).toBe('offline');
    await tell(worker, type, type === 'pong' ? { nonce: 'x.1' } : {});
    expect((await agent(handle)).json.status).toBe('online');
  });

  it('K-6: says which window is in force', async () => {
    const worker = await workerOf('window');
    await register(worker, manifestOf('window'));
    const { presence } = (await agent('window')).json;
    expect(presence.window_seconds).toBe(2);
    expect(Date.parse(presence.offline_at) - Date.parse(presence.last_seen_at)).toBe(2_000);
  });
});

describe('reading agents', () => {
  it('another account’s agent reads exactly like none', async () => {
    const worker = await workerOf('mine');
    const { payload } = await register(worker, manifestOf('mine'));
    const stranger = await app.account();
    const masked = ({ status, json: body }: Awaited<ReturnType<typeof agent>>) => ({ status, ...body, request_id: '' });
    expect(masked(await agent(payload.agent_id, stranger.key))).toEqual(
      masked(await agent('agent_unknown', stranger.key)),
    );
    expect((await app.call('GET', '/api/v1/agents', { key: stranger.key })).json).toEqual([]);
  });

  it('counts runs by their state', async () => {
    const worker = await workerOf('counted');
    await register(worker, manifestOf('counted'));
    for (let run = 0; run < 3; run += 1) {
      expect(
        (await app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id: 'counted', input: {} } })).status,
      ).toBe(200);
    }
    const job = await worker.claim();
    expect((await agent('counted')).json).toMatchObject({
      ...{
        runs_queued: 2,
        runs_active: 1,
        instances_total: 1,
        instances_busy: 1,
        instances_free: 0,
        latest_run_status: 'queued',
        latest_success_at: null,
      },
      instances: [{ busy: true, current_run_id: job.run_id, current_run_status: 'claimed' }],
    });
    expect((await agent('counted')).json.oldest_queued_run_at).toMatch(/^\d{4}-.*Z$/);
  });

  it('takes the same few statements for one agent and for three hundred, each with its workers', async () => {
    const lister = await app.account();
    /** What was asked on the connection that read the list: sweeps have others. */
    const count = async () => {
      const texts: [client: pg.Client, text: string][] = [];
      const query: unknown = Reflect.get(pg.Client.prototype, 'query');
      // What passes through is counted, and passes through.
      pg.Client.prototype.query = function counted(this: pg.Client, ...parameters: unknown[]) {
        const [first] = parameters as [string | { text: string }];
        texts.push([this, typeof first === 'string' ? first : first.text]);
        return Reflect.apply(query as (...all: unknown[]) => unknown, this, parameters);
      } as typeof pg.Client.prototype.query;
      try {
        const { json } = await app.call('GET', '/api/v1/agents', { key: lister.key });
        const [reader] = texts.find(([, text]) => /FROM agent AS a\b/.test(text)) ?? [];
        const statements = texts.filter(([client]) => client === reader).length;
        const instances = json.flatMap((agent: { instances: unknown[] }) => agent.instances);
        return { agents: json.length as number, workers: instances.length as number, statements };
      } finally {
        Reflect.set(pg.Client.prototype, 'query', query);
      }
    };
    await register(await mint(app, lister, 'one'), manifestOf('one'));
    const few = await count();
    expect(few).toEqual({ agents: 1, workers: 1, statements: expect.any(Number) });
    expect(few.statements).toBeLessThanOrEqual(5);
    await app.database.query(
      `INSERT INTO agent SELECT made.* FROM agent AS a, generate_series(1, 299) AS g,
              jsonb_populate_record(a, jsonb_build_object('id', a.id || g, 'handle', 'one-' || g)) AS made WHERE a.account_id = $1`,
      [lister.accountId],
    );
    await app.database.query(
      `INSERT INTO worker SELECT made.* FROM worker AS w, generate_series(1, 598) AS g,
              jsonb_populate_record(w, jsonb_build_object('id', w.id || g, 'agent_id', w.agent_id || (1 + g % 299))) AS made WHERE w.account_id = $1`,
      [lister.accountId],
    );
    expect(await count()).toEqual({ agents: 300, workers: 599, statements: few.statements });
  });

  it('shows where a worker can be dialled, on the worker and on its agent', async () => {
    const worker = await workerOf('dialled');
    await register(worker, manifestOf('dialled', { endpoint_url: 'http://worker.test:8010' }));
    const { endpoint_url, instances } = (await agent('dialled')).json;
    const own = (await app.call('GET', `/api/v1/workers/${worker.id}`, { key: account.key })).json.endpoint_url;
    expect([endpoint_url, instances[0].endpoint_url]).toEqual([own, own]);
    expect(own).toBe('http://worker.test:8010');
  });
});
