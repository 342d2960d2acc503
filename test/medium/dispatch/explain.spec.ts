import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Explain } from '../../../src/dispatch/explain/explain.service.ts';
import { Database } from '../../../src/platform/db/database.ts';
import type { OpContext } from '../../../src/platform/operation/operation.ts';
import type { Json } from '../../support/app.ts';
import { pause, startStub } from '../../support/stub-worker.ts';
import { Explaining, candidate, seconds, timeOf } from './explaining.ts';

/** Times as they are, and a second place where the waits of the product are short. */
let calm: Explaining;
let hasty: Explaining;
beforeAll(async () => {
  calm = await Explaining.open({ SIGNALBOX_SWEEP_SECONDS: '0.2' });
  hasty = await Explaining.open({
    SIGNALBOX_SWEEP_SECONDS: '0.1',
    SIGNALBOX_PRESENCE_WINDOW_SECONDS: '1.5',
    SIGNALBOX_CLAIM_WINDOW_SECONDS: '0.6',
    SIGNALBOX_INVOKE_UNREACHABLE_SECONDS: '0.3',
    SIGNALBOX_OFFER_SECONDS: '0.5',
  });
});
afterAll(async () => {
  await hasty.close();
  await calm.close();
});

describe('a run that waits', () => {
  it('F-33: handing_out: an eligible worker exists, and its runs come in turn', async () => {
    const worker = await calm.ready();
    const first = await calm.scene.queue(worker);
    const second = await calm.scene.queue(worker);
    const run = await calm.scene.run(second);
    expect(await calm.explain(second)).toEqual({
      run_id: second,
      status: 'queued',
      as_of: expect.any(String),
      reason: {
        code: 'handing_out',
        since: run.created_at,
        until_changed_by: [{ kind: 'time', what: expect.any(String), at: null }],
        detail: { workers: 1, ahead: 1 },
        message: expect.any(String),
      },
      also: [],
      candidates: [{ worker_id: worker.id, eligible: true, reason: expect.anything(), lights: expect.any(Object) }],
      candidates_total: 1,
      history: [],
      transport: 'polling',
    });
    expect((await calm.explain(first)).reason.detail).toEqual({ workers: 1, ahead: 0 });
  });

  it('F-33: agent.no_worker: until one registers, or its time in the queue is over', async () => {
    const worker = await calm.scene.worker();
    await calm.policy(worker, { queue_ttl_seconds: 60 });
    await calm.scene.app.database.query('DELETE FROM worker WHERE id = $1', [worker.id]);
    const runId = await calm.scene.queue(worker);
    const { reason, candidates, candidates_total } = await calm.explain(runId);
    expect(reason.code).toBe('agent.no_worker');
    expect(reason.since).toBe((await calm.scene.run(runId)).created_at);
    expect(seconds(timeOf(reason), reason.since)).toBe(60);
    expect({ candidates, candidates_total }).toEqual({ candidates: [], candidates_total: 0 });
  });

  it('F-33: worker.busy: names the runs that take its slots', async () => {
    const worker = await calm.ready();
    const taken = await calm.scene.running(worker);
    const runId = await calm.scene.queue(worker);
    const reason = await calm.excluded(runId, worker);
    expect(reason).toMatchObject({ code: 'worker.busy', since: (await calm.scene.run(taken)).claimed_at });
    expect(reason.detail).toEqual({ run_ids: [taken] });
    expect((await calm.explain(runId)).reason.until_changed_by.map(({ kind }: Json) => kind)).toEqual([
      'worker_frees',
      'time',
    ]);
  });

  it('F-33: worker.not_claiming and worker.offline: alive and not asking, then not heard by any path', async () => {
    const worker = await hasty.ready();
    const runId = await hasty.scene.queue(worker);
    await pause(700);
    await worker.frame('keep_alive', {}, {});
    const [row] = await hasty.scene.app.database.query<Json>('SELECT last_claim_at FROM worker WHERE id = $1', [
      worker.id,
    ]);
    const idle = await hasty.excluded(runId, worker);
    expect(idle.code).toBe('worker.not_claiming');
    expect(seconds(idle.since, row.last_claim_at.toISOString())).toBeCloseTo(0.6);
    await pause(1_600);
    const gone = await hasty.excluded(runId, worker);
    expect(gone.code).toBe('worker.offline');
    expect(seconds(gone.since, gone.detail.last_seen_at)).toBeCloseTo(1.5);
    expect(candidate(await hasty.explain(runId), worker).lights.process.state).toBe('down');
  });

  it('F-33: worker.channel_stale: without a channel it gets no doorbell, and its poll finds the run', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    const stale = candidate(await calm.explain(runId), worker);
    expect(stale).toMatchObject({ eligible: true, reason: { code: 'worker.channel_stale' } });
    expect((await worker.claim()).run_id).toBe(runId);
  });

  it('F-33: worker.token_revoked: an operator gives it another one', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    await calm.scene.app.call('DELETE', `/api/v1/agents/${worker.handle}/token`, { key: calm.scene.key });
    expect(await calm.excluded(runId, worker)).toMatchObject({
      code: 'worker.token_revoked',
      until_changed_by: [{ kind: 'operator' }],
    });
  });

  it('F-33: queue.agent_paused: by whom and why', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    const state = await calm.post(`/api/v1/agents/${worker.handle}/queue/pause`, { reason: 'a release' });
    expect((await calm.explain(runId)).reason).toMatchObject({
      code: 'queue.agent_paused',
      since: state.since,
      detail: { by: state.by, reason: 'a release' },
      until_changed_by: [{ kind: 'operator' }],
    });
    await calm.post(`/api/v1/agents/${worker.handle}/queue/resume`);
    expect((await calm.explain(runId)).reason.code).toBe('handing_out');
  });

  it('F-33: limit.agent_concurrency and limit.account_concurrency: as many are out as may be', async () => {
    const worker = await calm.ready();
    const other = await calm.colleague(worker);
    await other.claim();
    await calm.policy(worker, { max_concurrent_runs: 1 });
    const taken = await calm.scene.running(worker);
    const runId = await calm.scene.queue(worker);
    const { claimed_at: since } = await calm.scene.run(taken);
    const limited = await calm.explain(runId);
    expect(limited.reason).toMatchObject({ code: 'limit.agent_concurrency', detail: { limit: 1, active: 1 } });
    expect(seconds(limited.reason.since, since)).toBeGreaterThanOrEqual(0);
    expect(candidate(limited, other).eligible).toBe(true);

    const { accountId, key } = await calm.scene.app.account();
    const far = await startStub(calm.scene.app, key, { handle: 'far' });
    await calm.scene.app.database.query(
      `INSERT INTO account_settings (account_id, concurrent_runs, updated_by) VALUES ($1, 1, 'test')`,
      [accountId],
    );
    const order = async (): Promise<string> =>
      (await calm.scene.app.call('POST', '/api/v1/runs', { key, body: { agent_id: 'far' } })).json.run_id;
    await order();
    await far.claimSoon();
    const waits = await order();
    const { json } = await calm.scene.app.call('GET', `/api/v1/runs/${waits}/explain`, { key });
    expect(json.reason).toMatchObject({ code: 'limit.account_concurrency', detail: { limit: 1, active: 1 } });
    expect(json.also).toMatchObject([{ code: 'agent.no_eligible_worker' }]);
  });
});

describe('a run that is out', () => {
  it('F-33: offered, then executing: who has it, and until when', async () => {
    const worker = await calm.ready();
    await calm.policy(worker, { run_limit_seconds: 120 });
    const runId = await calm.scene.queue(worker);
    await worker.claimSoon();
    const { reason: offered } = await calm.explain(runId);
    expect(offered).toMatchObject({ code: 'offered', detail: { worker_id: worker.id, attempt: 1 } });
    expect(seconds(timeOf(offered), offered.since)).toBe(90);
    await worker.start(runId);
    const { reason, history, candidates } = await calm.explain(runId);
    const run = await calm.scene.run(runId);
    expect(reason).toMatchObject({ code: 'executing', since: run.started_at, detail: { worker_id: worker.id } });
    expect(Math.abs(seconds(timeOf(reason), run.claimed_at) - 120)).toBeLessThan(0.1);
    expect(history).toMatchObject([
      { code: 'offered', worker_id: worker.id, attempt: 1, at: run.claimed_at },
      { code: 'executing', worker_id: worker.id, attempt: 1, at: run.started_at },
    ]);
    expect(candidates).toEqual([]);
  });

  it('F-33: silent: nothing was heard of its worker, which counts as lost at the silent limit', async () => {
    const worker = await hasty.ready();
    await hasty.policy(worker, { silent_limit_seconds: 60 });
    const runId = await hasty.scene.running(worker);
    expect((await hasty.explain(runId)).reason.code).toBe('executing');
    await pause(1_700);
    const { reason } = await hasty.explain(runId);
    expect(reason.code).toBe('silent');
    expect(seconds(timeOf(reason), reason.since)).toBeCloseTo(60);
  });

  it('F-33: cancelling, until its worker confirms; then end.cancelled', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.running(worker);
    await calm.post(`/api/v1/runs/${runId}/cancel`, { reason: 'enough' });
    const { reason, also } = await calm.explain(runId);
    expect(reason).toMatchObject({ code: 'cancelling', detail: { worker_id: worker.id, reason: 'enough' } });
    expect(also).toMatchObject([{ code: 'end.cancelled' }]);
    await worker.fail(runId, 'cancelled by the control plane');
    expect(await calm.explain(runId)).toMatchObject({
      also: [],
      reason: { code: 'end.cancelled', detail: { reason: 'enough', confirmed: true } },
    });
  });
});

describe('a run that ended', () => {
  it('F-33: end.succeeded, and nothing changes that', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    await worker.serve();
    const { reason, status, history } = await calm.explain(runId);
    expect(status).toBe('succeeded');
    expect(reason).toMatchObject({
      code: 'end.succeeded',
      since: (await calm.scene.run(runId)).finished_at,
      until_changed_by: [{ kind: 'nothing', what: null, at: null }],
      detail: { worker_id: worker.id, attempt: 1 },
    });
    expect(history.map(({ code }: Json) => code)).toEqual(['offered', 'executing', 'end.succeeded']);
  });

  it('F-33, N-16, K-21: end.failed: the worker’s own error, labelled as its own', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.running(worker);
    await worker.fail(runId, 'ValueError: no such thing');
    expect((await calm.explain(runId)).reason).toMatchObject({
      code: 'end.failed',
      detail: { error: 'ValueError: no such thing', error_source: 'worker' },
    });
  });

  it('F-33, K-22: end.unreachable: an invoke that nobody could take', async () => {
    const worker = await hasty.scene.worker();
    const { json } = await hasty.scene.app.call('POST', `/api/v1/agents/${worker.handle}/invoke`, {
      key: hasty.scene.key,
      body: {},
    });
    const { reason } = await hasty.explain(json.run_id);
    expect(reason).toMatchObject({ code: 'end.unreachable', detail: { error_source: 'platform' } });
    expect(reason.message).toMatch(/^unreachable: /);
  });
});

describe('explaining', () => {
  it('of a run of another account is 404 as of a missing one', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    const { key } = await calm.scene.app.account();
    const [foreign, missing] = await Promise.all(
      [runId, 'run_of_nobody'].map((id) => calm.scene.app.call('GET', `/api/v1/runs/${id}/explain`, { key })),
    );
    expect(foreign?.status).toBe(404);
    expect({ ...foreign?.json, request_id: '' }).toEqual({ ...missing?.json, request_id: '' });
  });

  it('takes three statements, however many workers and moves there are', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    const { nest, database } = calm.scene.app;
    const [row] = await database.query<{ account_id: string }>('SELECT account_id FROM run WHERE id = $1', [runId]);
    const accountId = row?.account_id ?? '';
    const texts: string[] = [];
    await nest.get(Database).asAccount(accountId, (transaction) => {
      const sql = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> => {
        texts.push(text);
        return transaction.query<Row>({ text, values });
      };
      return nest.get(Explain).run({ actor: { accountId }, sql } as unknown as OpContext, { run_id: runId });
    });
    expect(texts).toHaveLength(3); // with the transaction, the caller's grants and what was heard: eight at most
  });

  it('lists a hundred candidates of many, whoever could take the run first', async () => {
    const worker = await calm.ready();
    await calm.scene.app.database.query(
      `INSERT INTO worker (account_id, id, agent_id, token_id, dialect, max_concurrent, mode, registered_at, last_seen_at, last_path, last_claim_at)
       SELECT account_id, 'aaa' || number, agent_id, token_id, dialect, max_concurrent, 'paused', now(), now(), 'claim', now()
         FROM worker, generate_series(1, 150) AS number WHERE id = $1`,
      [worker.id],
    );
    const { reason, candidates, candidates_total } = await calm.explain(await calm.scene.queue(worker));
    expect(reason.code).toBe('handing_out');
    expect({ shown: candidates.length, candidates_total }).toEqual({ shown: 100, candidates_total: 151 });
    expect(candidates[0]).toMatchObject({ worker_id: worker.id, eligible: true });
  });
});
