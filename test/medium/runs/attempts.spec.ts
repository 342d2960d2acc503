import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStub } from '../../support/stub-worker.ts';
import { Scene } from '../evidence/scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const attempts = (runId: string) => scene.get(`/api/v1/runs/${runId}/attempts`);

describe('the attempts of a run', () => {
  it('F-28: say who was offered it, who began it, and how each attempt ended', async () => {
    const first = await scene.worker();
    const second = await startStub(scene.app, scene.key, { handle: first.handle, token: first.token });
    const runId = await scene.queue(first);
    expect(await attempts(runId)).toEqual([]);
    await first.claimSoon();
    const offered = {
      attempt: 1,
      worker_id: first.id,
      path: 'claim',
      offered_at: expect.any(String),
      started_at: null,
    };
    expect(await attempts(runId)).toEqual([{ ...offered, ended_at: null, end: null, detail: {} }]);

    const again = await first.claim(); // asks for work, though it holds the run: so it has lost it
    const holder = again ? first : second;
    expect(again ?? (await second.claimSoon())).toMatchObject({ run_id: runId, attempt: 2 });
    await holder.start(runId);
    await holder.complete(runId, {});
    const run = await scene.run(runId);
    expect(await attempts(runId)).toEqual([
      { ...offered, ended_at: expect.any(String), end: 'worker.failed_offer', detail: expect.any(Object) },
      {
        ...{ attempt: 2, worker_id: holder.id, path: 'claim', offered_at: run.claimed_at, started_at: run.started_at },
        ...{ ended_at: run.finished_at, end: 'end.succeeded', detail: {} },
      },
    ]);
  });

  it('of a run that ended while it waited are none; of a foreign run 404', async () => {
    const worker = await scene.worker();
    const runId = await scene.queue(worker);
    await scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key, body: {} });
    expect(await attempts(runId)).toEqual([]);
    const { key } = await scene.app.account();
    expect((await scene.app.call('GET', `/api/v1/runs/${runId}/attempts`, { key })).status).toBe(404);
  });
});
