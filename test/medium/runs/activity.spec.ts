import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open({ env: { SIGNALBOX_SEARCH_SECONDS: '1' } });
  worker = await scene.worker();
});
afterAll(() => scene.close());

const usage = (more: object) => ({
  model: 'large',
  provider: 'p',
  input_tokens: 1,
  cached_input_tokens: 5,
  output_tokens: 1,
  currency: 'USD',
  ...more,
});
/** An ended run, so many days old. */
async function ran(
  of: StubWorker,
  end: { readonly usage?: object; readonly error?: string; readonly daysAgo?: number },
): Promise<string> {
  const runId = await scene.running(of);
  await of.send(runId, [
    { event_type: 'token.created', usage: usage({ cost_amount: 100 }) },
    { event_type: 'token.created', usage: usage({ cost_amount: 200 }) },
  ]);
  if (end.error === undefined) await of.complete(runId, { text: 'done' }, { usage: end.usage });
  else await of.fail(runId, end.error);
  await scene.app.database.query(`UPDATE run SET created_at = created_at - $2::int * interval '1 day' WHERE id = $1`, [
    runId,
    end.daysAgo ?? 0,
  ]);
  return runId;
}
const ofAgent = (handle: string, days = 30): Promise<Json> =>
  scene.get(`/api/v1/runs/activity/agents/${handle}?window_days=${days}`);

describe('what an agent did', () => {
  it('is summed up by day; a running total counts once, as the last one, and reports are apart from estimates', async () => {
    worker = await scene.worker();
    await ran(worker, { usage: usage({ cost_amount: 0.5, cost_source: 'reported' }), daysAgo: 40 });
    await ran(worker, { usage: usage({ cost_amount: 1, cost_source: 'reported' }), daysAgo: 2 });
    const succeeded = await ran(worker, {
      usage: usage({ cost_amount: 0.25, cost_source: 'estimated', model: 'small' }),
    });
    const failed = await ran(worker, { error: 'ValueError: no' }); // its last running total counts
    await scene.queue(worker);
    const activity = await ofAgent(worker.handle);
    expect(activity).toMatchObject({
      ...{ window_days: 30, runs: 4, succeeded: 2, failed: 1, active: 1, currency: 'USD' },
      ...{ cost_amount: 201.25, cost_reported: 201, cost_estimated: 0.25 },
      ...{ last_successful_run_id: succeeded, last_failed_run_id: failed, other_currencies: [] },
      model_mix: [
        { model: 'large', provider: 'p', runs: 2, cost_amount: 201, cost_reported: 201, cost_estimated: 0 },
        { model: 'small', provider: 'p', runs: 1, cost_amount: 0.25, cost_reported: 0, cost_estimated: 0.25 },
      ],
    });
    expect(activity.buckets).toHaveLength(30);
    const busy = activity.buckets.filter(({ runs }: Json) => runs > 0);
    expect(busy.map(({ runs, active, cost_amount }: Json) => ({ runs, active, cost_amount }))).toEqual([
      { runs: 1, active: 0, cost_amount: 1 },
      { runs: 3, active: 1, cost_amount: 200.25 },
    ]);
    expect(await ofAgent(worker.handle, 1)).toMatchObject({ runs: 3, window_days: 1 });
    expect(await ofAgent(worker.handle, 365)).toMatchObject({ runs: 5, cost_reported: 201.5 });
  });

  it('is nothing, where nothing ran', async () => {
    const idle = await scene.worker();
    expect(await ofAgent(idle.handle)).toMatchObject({
      runs: 0,
      cost_amount: 0,
      model_mix: [],
      last_failed_run_id: null,
    });
  });

  it.each(['0', '366', '1.5', 'x'])('is not told for %s days', async (days) => {
    for (const path of [`agents/${worker.handle}`, 'workspace']) {
      const { status, json } = await scene.app.call('GET', `/api/v1/runs/activity/${path}?window_days=${days}`, {
        key: scene.key,
      });
      expect({ status, loc: json.detail[0].loc }).toEqual({ status: 422, loc: ['query', 'window_days'] });
    }
  });
});

describe('what a workspace did', () => {
  it('is the sum of its agents, with the runs that cost most, and nothing of another account', async () => {
    const { key } = await scene.app.account();
    const theirs = async () => (await scene.app.call('GET', '/api/v1/runs/activity/workspace', { key })).json;
    expect(await theirs()).toMatchObject({ runs: 0, agents: [], top_cost_runs: [] });
    const [first, second] = [await scene.worker(), await scene.worker()];
    const dear = await ran(first, { usage: usage({ cost_amount: 9_000, cost_source: 'estimated' }) });
    await ran(second, { usage: usage({ cost_amount: 8_000, cost_source: 'reported', currency: 'EUR' }) });
    const activity = await scene.get('/api/v1/runs/activity/workspace');
    expect(activity.top_cost_runs[0]).toMatchObject({
      run_id: dear,
      status: 'succeeded',
      title: first.handle,
      usage: { cost_amount: 9_000 },
    });
    expect(activity.other_currencies).toEqual([
      { currency: 'EUR', cost_amount: 8_000, cost_reported: 8_000, cost_estimated: 0 },
    ]);
    for (const name of ['runs', 'succeeded', 'failed', 'active', 'cost_amount', 'cost_reported', 'cost_estimated']) {
      const sum = activity.agents.reduce((total: number, agent: Json) => total + agent[name], 0);
      expect({ name, sum: activity[name] }).toEqual({ name, sum: expect.closeTo(sum, 6) });
    }
    expect(await theirs()).toMatchObject({ runs: 0 });
  });

  it('is read off the index of ended runs: 50,000 of them are summed up within the time', async () => {
    await scene.app.database.query(
      `INSERT INTO run (account_id, id, day, agent_id, status, origin_kind, created_by_kind, created_by, request_id, event_id, thread_id, input, input_bytes, finished_at, created_at, cost_amount, cost_source, cost_currency, model)
       SELECT account_id, 'bulk_' || n, day, agent_id, 'succeeded', 'rest', 'user', 'u', 'r', 'e' || n, 'bulk_' || n, '{}', 2, now(), now() - n * interval '30 seconds', 0.001, 'reported', 'USD', 'model ' || n % 5
         FROM (SELECT account_id, day, agent_id FROM run LIMIT 1) AS one, generate_series(1, 50000) AS n`,
    );
    await scene.app.database.query('VACUUM ANALYZE run');
    expect((await scene.get('/api/v1/runs/activity/workspace')).runs).toBeGreaterThan(50_000);
  });

  it('that would take too long is refused, and says so', async () => {
    const other = new pg.Client({ connectionString: scene.app.database.url });
    await other.connect();
    await other.query('BEGIN; LOCK TABLE run');
    try {
      for (const path of [
        '/api/v1/runs/activity/workspace',
        `/api/v1/runs?agent_id=${worker.handle}&from=${new Date(Date.now() - 60_000).toISOString()}&error_text=x`,
      ]) {
        const { status, json, headers } = await scene.app.call('GET', path, { key: scene.key });
        expect({ status, code: json.code, retry: headers.get('retry-after') }).toEqual({
          status: 503,
          code: 'list.too_slow',
          retry: expect.stringMatching(/^\d+$/),
        });
      }
    } finally {
      await other.end();
    }
  });
});

describe('a list of runs by text', () => {
  const from = new Date(Date.now() - 86_400_000).toISOString();
  const list = (query: string) =>
    scene.app.call('GET', `/api/v1/runs?agent_id=${worker.handle}&from=${from}${query}`, { key: scene.key });

  it('finds what failed with it, in any case, and what has a label', async () => {
    worker = await scene.worker();
    const failed = await ran(worker, { error: 'ConnectTimeout: 100% of 3 tries' });
    await ran(worker, { error: 'other' });
    const { json } = await scene.app.call('POST', '/api/v1/runs', {
      key: scene.key,
      body: { agent_id: worker.handle, labels: { 'a.b': 'c', team: 'blue' } },
    });
    const ids = async (query: string) => (await list(query)).json.map((run: Json) => run.run_id);
    expect(await ids('&error_text=connecttimeout')).toEqual([failed]);
    expect(await ids(`&error_text=${encodeURIComponent('100% OF')}`)).toEqual([failed]);
    expect(await ids('&error_text=100_')).toEqual([]);
    expect(await ids('&label.team=blue&label.a.b=c')).toEqual([json.run_id]);
    expect(await ids('&label.team=red')).toEqual([]);
    expect(await ids('&status=failed')).toHaveLength(2);
    expect((await list('&error_text=x&cursor=bogus')).status).toBe(422);
  });

  it('needs an agent and a range', async () => {
    const { status, json } = await scene.app.call('GET', '/api/v1/runs?error_text=x', { key: scene.key });
    expect({ status, locs: json.detail.map(({ loc }: Json) => loc[1]) }).toEqual({
      status: 422,
      locs: ['error_text'],
    });
  });
});
