import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { StubWorker, startStub } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';
import { manifestOf, register, tokenFor } from '../workers/wire.ts';

/** Codes at which the SDK gives up and ends its process. */
const DEADLY = [401, 403, 409, 422];
/** The SDK's envelope has these keys and no others. */
const ENVELOPE = ['id', 'type', 'payload', 'needsReply', 'correlationId', 'stream', 'seq', 'end', 'headers'];
/** What the SDK waits for an answer, up to 0.3.15. */
const PATIENCE_MS = 5_000;

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

describe('a claim', () => {
  it('worker-protocol §23.1: is answered with an assignment whatever it says, and a job always has an input', async () => {
    const worker = await scene.worker();
    for (const payload of [{}, { slots: 1 }, { unknown: [1] }]) {
      const answer = await worker.frame('run_claim', payload);
      expect([answer.status, answer.type]).toEqual([200, 'run_assignment']);
    }
    for (const body of [{}, { input: null }, { input: {} }]) {
      await scene.app.call('POST', '/api/v1/runs', { key: scene.key, body: { agent_id: worker.handle, ...body } });
      const job = await worker.claim();
      expect(job.input).toEqual({});
      await worker.start(job.run_id);
      await worker.complete(job.run_id, {});
    }
  });

  it('worker-protocol §23.2: of who is not registered, or while the database is away, is refused by no code that ends the worker', async () => {
    const account = await scene.app.account();
    const stranger = new StubWorker(scene.app.url, await tokenFor(scene.app, account, 'stranger'), {
      handle: 'stranger',
    });
    expect([200, 404]).toContain((await stranger.frame('run_claim')).status);
    let proxy: DatabaseProxy | undefined;
    const cut = await startApp({
      database: scene.app.database,
      via: async (url) => {
        const opened = await DatabaseProxy.before(url);
        proxy = opened.proxy;
        return opened.url;
      },
    });
    try {
      const worker = await startStub(cut, scene.key, { handle: 'cut-off' });
      await worker.claim();
      await scene.queue(worker);
      await proxy?.close();
      const statuses: number[] = [];
      for (let time = 0; time < 6; time += 1) {
        const claimed = await worker.frame('run_claim');
        const registered = await register(worker, manifestOf('cut-off', { version: String(time) }));
        statuses.push(claimed.status, registered.status);
      }
      expect(statuses.filter((status) => DEADLY.includes(status))).toEqual([]);
      expect(new Set(statuses)).toContain(503);
    } finally {
      await cut.stop();
    }
  });

  it('worker-protocol §23.3: is no long poll, nor is a request for secrets; one whose answer was lost is offered again', async () => {
    const worker = await scene.worker();
    for (const type of ['run_claim', 'secrets_request', 'config_request']) {
      for (let time = 0; time < 10; time += 1) {
        const began = performance.now();
        expect((await worker.frame(type)).status).toBe(200);
        expect(performance.now() - began).toBeLessThan(PATIENCE_MS / 5);
      }
    }
    const runId = await scene.queue(worker);
    await worker.claim(); // its answer never arrives
    expect(await worker.claim()).toMatchObject({ run_id: runId, attempt: 2 });
    expect((await worker.start(runId)).payload).toMatchObject({ accepted: true });
  });

  it('worker-protocol §23.7: names no version of a configuration that its worker was not given', async () => {
    const worker = await scene.worker();
    const { payload } = await worker.frame('config_request');
    await scene.queue(worker);
    const { config_version: version } = await worker.claimSoon();
    expect([undefined, payload.config.version]).toContain(version);
  });

  it('worker-protocol §23.26: of a worker that starts nothing it is given ends the run after five offers, however fast it asks', async () => {
    const worker = await scene.worker();
    const runId = await scene.queue(worker);
    const replay = '{"agentops_replay":{"golden_run_id":""}}'; // refused at every entry, and the SDK drops the run in silence
    await scene.app.database.query('UPDATE run SET input = $2::json WHERE id = $1', [runId, replay]);
    const offers: number[] = [];
    for (let time = 0; time < 20; time += 1) {
      const job = await worker.claim();
      if (job) offers.push(job.attempt);
    }
    expect(offers).toEqual([1, 2, 3, 4, 5]);
    const run = await scene.run(runId);
    expect([run.status, run.error]).toEqual(['failed', expect.stringMatching(/^undeliverable: offered 5 times/)]);
  });
});

describe('an answer', () => {
  it('worker-protocol §23.5: holds no key that the envelope does not have', async () => {
    const worker = await scene.worker();
    const frames = ['heartbeat', 'run_claim', 'secrets_request', 'config_request', 'totally_new'];
    const asked = [...frames.map((type) => ({ type, payload: {} })), { type: 'ping', payload: { nonce: 'n' } }];
    for (const [index, frame] of asked.entries()) {
      const { status, json } = await scene.app.call('POST', `/api/v1/workers/${worker.id}/frames`, {
        key: worker.token,
        body: { id: `msg_${index}`, needsReply: true, ...frame },
      });
      expect(status).toBe(200);
      expect(ENVELOPE).toEqual(expect.arrayContaining(Object.keys(json)));
      expect(json.correlationId).toBe(`msg_${index}`);
    }
  });

  it('worker-protocol §23.6: names a state that the SDK knows, whatever became of the agent', async () => {
    const known = ['online', 'offline', 'draft', 'deploying', 'deploy_failed'];
    const worker = await scene.worker();
    for (const change of ['is_enabled = false', 'archived_at = now()', 'is_enabled = true, archived_at = NULL']) {
      await scene.app.database.query(`UPDATE agent SET ${change} WHERE handle = $1`, [worker.handle]);
      for (const { status, type, payload } of [await worker.register(), await worker.frame('heartbeat')]) {
        expect([status, type]).toEqual([200, 'worker_state']);
        expect(known).toContain(payload.status);
      }
    }
  });
});
