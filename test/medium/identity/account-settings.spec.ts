import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';

let app: RunningApp;
let account: Awaited<ReturnType<RunningApp['account']>>;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  account = await app.account();
});
afterAll(() => app.stop());

const PATH = '/api/v1/account/settings';
const read = (key = account.key) => app.call('GET', PATH, { key });
const patch = (body: unknown, key = account.key) => app.call('PATCH', PATH, { key, body });
const order = (agent_id: string) => app.call('POST', '/api/v1/runs', { key: account.key, body: { agent_id } });

async function keyOf(role: string): Promise<string> {
  const body = { name: `a ${role}`, role_ids: [role] };
  return (await app.call('POST', '/api/v1/api-keys', { key: account.key, body })).json.key;
}

describe('the settings of an account', () => {
  it('are what is true until somebody decides otherwise', async () => {
    const { status, json } = await read();
    expect([status, json]).toEqual([
      200,
      {
        version: 0,
        retention: { runs_days: null, evidence_days: null, sessions_days: null, audit_days: null },
        content: 'full',
        limits: { concurrent_runs: null, queued_runs: null, storage_mb: null, requests_per_minute: null },
        audit_reads: [],
      },
    ]);
  });

  it('change where they are named, stay where they are not, and are what other rooms read', async () => {
    const first = await patch({ limits: { concurrent_runs: 4 } });
    expect(first.json).toMatchObject({ version: 1, limits: { concurrent_runs: 4, queued_runs: null } });
    const second = await patch({ limits: { queued_runs: 100 }, content: 'full' });
    expect(second.json).toMatchObject({ version: 2, limits: { concurrent_runs: 4, queued_runs: 100 } });
    expect((await read()).json).toEqual(second.json);
    const limits = await app.database.query('SELECT * FROM account_limits WHERE account_id = $1', [account.accountId]);
    expect(limits).toEqual([{ account_id: account.accountId, concurrent_runs: 4, queued_runs: 100 }]);
    expect((await patch({ limits: { concurrent_runs: null } })).json.limits).toMatchObject({ concurrent_runs: null });
  });

  it.each([
    [{ retention: { runs_days: 0 } }, ['body', 'retention', 'runs_days']],
    [{ retention: { runs_days: 30, audit_days: 60 } }, ['body', 'retention', 'audit_days']],
    [{ retention: { days: 30 } }, ['body', 'retention']],
    [{ content: 'none' }, ['body', 'content']],
    [{ limits: { storage_mb: 10, queued_runs: 7 } }, ['body', 'limits', 'storage_mb']],
    [{ audit_reads: ['run.read'] }, ['body', 'audit_reads']],
    [{ limits: { queued_runs: 0 } }, ['body', 'limits', 'queued_runs']],
    [{ limits: { queued: 5 } }, ['body', 'limits']],
    [{ limit: {} }, ['body']],
  ])('refuse %j at its place, and nothing of it is kept', async (body, loc) => {
    const { status, json } = await patch(body);
    expect([status, json.detail[0].loc]).toEqual([422, loc]);
    expect((await read()).json).toMatchObject({ version: 0, limits: { queued_runs: null } });
  });

  it('say in words what this build does not enforce yet', async () => {
    const { json } = await patch({ limits: { storage_mb: 365 } });
    expect(json.detail).toEqual([
      expect.objectContaining({ msg: expect.stringMatching(/does not enforce limits\.storage_mb yet/) }),
    ]);
  });

  it('U-43: say how long what is kept, each apart, and the audit trail the longest', async () => {
    const retention = { runs_days: 30, evidence_days: 7, sessions_days: 90, audit_days: 400 };
    expect((await patch({ retention })).json).toMatchObject({ version: 1, retention });
    expect((await patch({ retention: { sessions_days: 401 } })).status).toBe(422);
    expect((await patch({ retention: { runs_days: null } })).status).toBe(422);
    expect((await patch({ retention: { sessions_days: 401, audit_days: 401 } })).status).toBe(200);
    const kept = await app.database.query('SELECT * FROM account_keeping WHERE account_id = $1', [account.accountId]);
    expect(kept).toEqual([
      { account_id: account.accountId, content: 'full', ...retention, sessions_days: 401, audit_days: 401 },
    ]);
  });

  it('are not changed by who has seen another version; of ten at once one changes them', async () => {
    expect((await patch({ limits: {}, base_version: 3 })).json.code).toBe('account_settings.changed');
    expect((await read()).json.version).toBe(0);
    for (const base_version of [0, 1]) {
      const answers = await Promise.all(
        Array.from({ length: 10 }, (_, index) => patch({ limits: { queued_runs: index + 1 }, base_version })),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 9 }, () => 409)]);
    }
    expect((await read()).json.version).toBe(2);
  });

  it('leave what was in force before and after on record', async () => {
    await patch({ limits: { queued_runs: 5 } });
    await patch({ limits: { queued_runs: 6, concurrent_runs: 2 } });
    const rows: Json[] = await app.database.query(
      `SELECT category, detail FROM audit_entry WHERE account_id = $1 AND action = 'account.update' ORDER BY at, id`,
      [account.accountId],
    );
    expect(rows).toMatchObject([
      {
        category: 'identity',
        detail: { before: { queued_runs: null }, after: { queued_runs: 5 } },
      },
      {
        detail: {
          version: 2,
          before: { queued_runs: 5, concurrent_runs: null },
          after: { queued_runs: 6, concurrent_runs: 2 },
        },
      },
    ]);
  });

  it('are read by a viewer, changed by an operator, and neither by a worker or a developer', async () => {
    const viewer = await keyOf('role_viewer');
    expect([(await read(viewer)).status, (await patch({}, viewer)).status]).toEqual([200, 403]);
    const operator = await keyOf('role_operator');
    expect([(await read(operator)).status, (await patch({}, operator)).status]).toEqual([200, 200]);
    const developer = await keyOf('role_developer');
    const { token } = await startStub(app, account.key, { handle: 'settings-worker' });
    for (const key of [developer, token])
      expect([(await read(key)).status, (await patch({}, key)).status]).toEqual([403, 403]);
  });

  it('are each account’s own', async () => {
    await patch({ limits: { queued_runs: 5 } });
    const other = await app.account();
    expect((await read(other.key)).json).toMatchObject({ version: 0, limits: { queued_runs: null } });
  });
});

describe('over an account’s queued_runs', () => {
  it('an order is answered 429 limit.account_queue with Retry-After, whichever agent it is for, and nothing is stored', async () => {
    const [one, two] = await Promise.all(['one', 'two'].map((handle) => startStub(app, account.key, { handle })));
    await patch({ limits: { queued_runs: 2 } });
    await order('one');
    await order('two');
    for (const handle of ['one', 'two']) {
      const { status, json, headers } = await order(handle);
      expect([status, json.code, headers.has('retry-after')]).toEqual([429, 'limit.account_queue', true]);
    }
    expect((await app.call('GET', '/api/v1/runs', { key: account.key })).json).toHaveLength(2);
    await two?.claim();
    expect((await order('one')).status).toBe(200);
    one?.close();
  });

  it('a hundred orders at once for three agents, some with limits of their own, are exactly as many runs as may wait', async () => {
    for (const handle of ['one', 'two', 'three']) await startStub(app, account.key, { handle });
    await app.call('PUT', '/api/v1/agents/one/policy', { key: account.key, body: { max_queued_runs: 3 } });
    await patch({ limits: { queued_runs: 10 } });
    const handles = Array.from({ length: 100 }, (_, index) => ['one', 'two', 'three'][index % 3] ?? 'one');
    const answers = await Promise.all(handles.map((handle) => order(handle)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => ![200, 429].includes(status))).toEqual([]);
    const runs: Json[] = (await app.call('GET', '/api/v1/runs', { key: account.key })).json;
    expect(runs).toHaveLength(10);
    const { agent_id: one } = (await app.call('GET', '/api/v1/agents/one/policy', { key: account.key })).json;
    expect(runs.filter(({ agent_id }) => agent_id === one).length).toBeLessThanOrEqual(3);
  });
});
