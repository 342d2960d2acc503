import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { pause } from '../../support/stub-worker.ts';
import { Explaining, candidate, seconds, timeOf } from './explaining.ts';

let calm: Explaining;
let hasty: Explaining;
beforeAll(async () => {
  calm = await Explaining.open({ SIGNALBOX_SWEEP_SECONDS: '0.2' });
  hasty = await Explaining.open({
    SIGNALBOX_SWEEP_SECONDS: '0.1',
    SIGNALBOX_OFFER_SECONDS: '0.5',
    SIGNALBOX_FAILED_OFFER_SECONDS: '3',
  });
});
afterAll(async () => {
  await hasty.close();
  await calm.close();
});

describe('what keeps a worker from a run', () => {
  it.each([
    ['worker.paused', 'pause'],
    ['worker.draining', 'drain'],
  ])('F-33, Q-15: %s: by whom and why', async (code, action) => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    const { created_by } = await calm.act(worker, action, 'a look at the machine');
    const reason = await calm.excluded(runId, worker);
    expect(reason).toMatchObject({ code, detail: { by: created_by, reason: 'a look at the machine' } });
    expect(reason.until_changed_by.map(({ kind }: Json) => kind)).toEqual(['operator', 'worker_appears']);
    expect(await worker.claim()).toBeUndefined();
    await calm.act(worker, 'resume');
    expect((await calm.explain(runId)).reason.code).toBe('handing_out');
  });

  it('F-33, Q-15: worker.draining: the worker itself says that it leaves', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.queue(worker);
    await worker.claim({ draining: true });
    expect(await calm.excluded(runId, worker)).toMatchObject({ code: 'worker.draining', detail: { by: null } });
  });

  it('F-33, Q-15: worker.lame_duck: while another one that fits is there, and not for what only it can take', async () => {
    const duck = await calm.ready({ version: '1.0.0' });
    const other = await calm.colleague(duck, { version: '2.0.0' });
    await other.claim();
    await calm.act(duck, 'lame_duck');
    const common = await calm.order(duck, {});
    const explanation = await calm.explain(common);
    expect(candidate(explanation, duck)).toMatchObject({ eligible: false, reason: { code: 'worker.lame_duck' } });
    expect(explanation.reason).toMatchObject({ code: 'handing_out', detail: { workers: 1 } });
    expect(await duck.claim()).toBeUndefined();

    const own = await calm.order(duck, { require: { version: '1.0.0' } });
    expect(candidate(await calm.explain(own), duck)).toMatchObject({ eligible: true });
    expect((await duck.claimSoon()).run_id).toBe(own);
  });

  it('F-33: worker.version_mismatch: the run asks for another version', async () => {
    const worker = await calm.ready({ version: '1.0.0' });
    const runId = await calm.order(worker, { require: { version: '2.0.0' } });
    const reason = await calm.excluded(runId, worker);
    expect(reason).toMatchObject({ code: 'worker.version_mismatch', detail: { required: '2.0.0', offered: '1.0.0' } });
    expect(reason.since).toBe((await calm.scene.run(runId)).created_at);
    expect(await worker.claim()).toBeUndefined();
    const newer = await calm.colleague(worker, { version: '2.0.0' });
    expect((await newer.claimSoon()).run_id).toBe(runId);
  });

  it('F-33: worker.label_mismatch: names what is missing', async () => {
    const worker = await calm.ready({ labels: { zone: 'a', gpu: 'yes' } });
    const runId = await calm.order(worker, { require: { labels: { zone: 'b', gpu: 'yes' } } });
    expect(await calm.excluded(runId, worker)).toMatchObject({
      code: 'worker.label_mismatch',
      detail: { required: { zone: 'b', gpu: 'yes' }, offered: { zone: 'a', gpu: 'yes' }, missing: ['zone'] },
    });
    expect(await worker.claim()).toBeUndefined();
  });

  it('F-33: worker.incompatible: a replay, and a worker that cannot replay', async () => {
    const worker = await calm.ready();
    const golden = await calm.scene.running(worker);
    await worker.complete(golden, {});
    const input = { agentops_replay: { golden_run_id: golden, intercept: ['every_tool'] } };
    const runId = await calm.order(worker, { input });
    const reason = await calm.excluded(runId, worker);
    expect(reason).toMatchObject({
      code: 'worker.incompatible',
      detail: { because: expect.stringContaining('replay') },
    });
    expect(await worker.claim()).toBeUndefined();
    const able = await calm.colleague(worker, { agent_card: { capabilities: { replay: ['every_tool'] } } });
    expect((await able.claimSoon()).run_id).toBe(runId);
  });

  it('F-33: worker.failed_offer: others first, then it again', async () => {
    const worker = await hasty.ready();
    const runId = await hasty.scene.queue(worker);
    await worker.claimSoon();
    for (let tries = 0; (await hasty.scene.run(runId)).status !== 'queued' && tries < 100; tries += 1) await pause(30);
    await worker.claim();
    const reason = await hasty.excluded(runId, worker);
    expect(reason).toMatchObject({ code: 'worker.failed_offer' });
    expect(seconds(timeOf(reason), reason.since)).toBe(3);
    const { history } = await hasty.explain(runId);
    expect(history).toMatchObject([
      { code: 'offered', worker_id: worker.id, attempt: 1 },
      { code: 'worker.failed_offer', worker_id: worker.id, attempt: 1 },
    ]);
    expect(await hasty.scene.get(`/api/v1/runs/${runId}/attempts`)).toMatchObject([
      { attempt: 1, worker_id: worker.id, end: 'worker.failed_offer', detail: { rule: 'offer_limit' } },
    ]);
    expect((await worker.claimSoon()).run_id).toBe(runId);
  });
});

describe('why a run was put back, or ended without a word of its worker', () => {
  it('F-33: retry.backoff: the pause before the next attempt', async () => {
    const worker = await calm.ready();
    await calm.policy(worker, { retry: { on: ['failed'], max_attempts: 3, backoff_seconds: 60 } });
    const runId = await calm.scene.running(worker);
    await worker.fail(runId, 'ValueError: not today');
    const { reason } = await calm.explain(runId);
    expect(reason).toMatchObject({ code: 'retry.backoff', detail: { attempt: 1, after: 'end.failed' } });
    expect(timeOf(reason)).toBe(reason.detail.at);
    expect(seconds(reason.detail.at, reason.since)).toBe(60);
    expect(await worker.claim()).toBeUndefined();
    const [attempt] = await calm.scene.get(`/api/v1/runs/${runId}/attempts`);
    expect(attempt).toMatchObject({ end: 'end.failed', detail: { error: 'ValueError: not today' } });
  });

  it('F-33: end.worker_lost: names the rule', async () => {
    const worker = await calm.ready();
    const runId = await calm.scene.running(worker);
    await worker.claim();
    const run = await calm.ended(runId);
    const { reason, history } = await calm.explain(runId);
    expect(reason).toMatchObject({
      code: 'end.worker_lost',
      since: run.finished_at,
      detail: { rule: 'asked_again', worker_id: worker.id, error_source: 'platform' },
    });
    expect(run.error).toMatch(/^worker_lost: /);
    expect(history.at(-1)).toMatchObject({ code: 'end.worker_lost', worker_id: worker.id });
  });

  it('F-33: end.undeliverable: it was offered as often as it may be', async () => {
    const worker = await hasty.ready();
    await hasty.policy(worker, { max_offers: 1 });
    const runId = await hasty.scene.queue(worker);
    await worker.claimSoon();
    const { error } = await hasty.ended(runId);
    expect(error).toMatch(/^undeliverable: /);
    expect((await hasty.explain(runId)).reason).toMatchObject({ code: 'end.undeliverable', detail: { offers: 1 } });
    expect(await hasty.scene.get(`/api/v1/runs/${runId}/attempts`)).toMatchObject([{ end: 'worker.failed_offer' }]);
  });

  it('F-33, K-22: end.queue_ttl: nobody took it in time', async () => {
    const worker = await calm.scene.worker();
    await calm.policy(worker, { queue_ttl_seconds: 1 });
    const runId = await calm.scene.queue(worker);
    const { error } = await calm.ended(runId);
    expect(error).toMatch(/^queue_ttl: /);
    expect((await calm.explain(runId)).reason).toMatchObject({ code: 'end.queue_ttl', detail: { error } });
    expect(await calm.scene.get(`/api/v1/runs/${runId}/attempts`)).toEqual([]);
  });

  it('F-33, U-14: end.run_limit: it took longer than it may', async () => {
    const worker = await calm.ready();
    await calm.policy(worker, { run_limit_seconds: 1 });
    const runId = await calm.scene.running(worker);
    const { error } = await calm.ended(runId);
    expect(error).toMatch(/^run_limit: /);
    const { reason } = await calm.explain(runId);
    expect(reason).toMatchObject({ code: 'end.run_limit', detail: { error, worker_id: worker.id } });
    expect(await calm.scene.get(`/api/v1/runs/${runId}/attempts`)).toMatchObject([{ end: 'end.run_limit' }]);
  });
});
