import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';
import { Scene, log } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const late = (runId: string, query = ''): Promise<Json> => scene.get(`/api/v1/runs/${runId}/late${query}`);

describe('late evidence', () => {
  it('F-28: shows what a stale worker said: its events as they were sent, its end as a report, why and from whom', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    expect(await late(runId)).toEqual([]);
    const frozen = await startStub(scene.app, scene.key, { handle: holder.handle, token: holder.token });
    await frozen.send(runId, [log('I woke up', { payload: { step: 7 } })]);
    expect((await frozen.complete(runId, { text: 'mine' })).payload.accepted).toBe(false);
    await holder.complete(runId, { text: 'done' });
    await holder.send(runId, [log('too late', { event_id: 'evt_of_its_own' })]);

    const common = { kind: 'event', report: null, at: expect.any(String) };
    const event = { late: true, event_type: 'log.created', altered: [], truncated: [], stream_seq: 0, seq: 0 };
    const received = expect.any(String);
    expect(await late(runId)).toEqual([
      {
        ...{ ...common, attempt: null, worker_id: frozen.id, why: 'not_owner' },
        event: expect.objectContaining({ ...event, content: 'I woke up', payload: { step: 7 }, received_at: received }),
      },
      {
        ...{ ...common, attempt: null, worker_id: frozen.id, why: 'not_owner', kind: 'terminal', event: null },
        report: { run_id: runId, output: { text: 'mine' } },
      },
      {
        ...{ ...common, attempt: 1, worker_id: holder.id, why: 'after_end' },
        event: expect.objectContaining({ ...event, content: 'too late', attempt: 1 }),
      },
    ]);
    expect(await scene.run(runId)).toMatchObject({ status: 'succeeded', output: { text: 'done' } });
  });

  it('is paged, the oldest first, each once', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.complete(runId, {});
    await worker.send(
      runId,
      ['a', 'b', 'c', 'd', 'e'].map((text) => log(text)),
    );
    await worker.send(runId, [log('f')]);
    const said: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const page = await scene.app.call('GET', `/api/v1/runs/${runId}/late?limit=2${query}`, { key: scene.key });
      expect(page.json.length).toBeLessThanOrEqual(2);
      said.push(...page.json.map(({ event }: Json) => event.content));
      cursor = page.headers.get('x-next-cursor');
    } while (cursor !== null);
    expect(said).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
  });

  it('of several megabytes comes in small pages', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.complete(runId, {});
    const noise = (): string => Array.from({ length: 75_000 }, () => Math.random().toString(36).slice(2)).join('');
    for (const name of ['one', 'two', 'three', 'four', 'five', 'six'])
      await worker.complete(runId, { name, noise: noise() }, { attempt: 7 });
    const page = await scene.app.call('GET', `/api/v1/runs/${runId}/late`, { key: scene.key });
    expect(page.json.length).toBeLessThan(6);
    expect(page.headers.get('x-next-cursor')).not.toBeNull();
  });

  it('of a run of another account is 404 as of a missing one', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const { key } = await scene.app.account();
    const path = (id: string): string => `/api/v1/runs/${id}/late`;
    const foreign = await scene.app.call('GET', path(runId), { key });
    const missing = await scene.app.call('GET', path('run_of_nobody'), { key });
    expect(foreign.status).toBe(404);
    expect({ ...foreign.json, request_id: '' }).toEqual({ ...missing.json, request_id: '' });
    expect((await scene.app.call('GET', `${path(runId)}?cursor=made-up`, { key: scene.key })).status).toBe(422);
  });
});
