import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startStub } from '../../support/stub-worker.ts';
import { Scene, ended, log, output, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

describe('events of somebody else', () => {
  it('D-5: about another agent’s run are 404 and store nothing; so are those about a run that does not exist', async () => {
    const [mine, other] = await Promise.all([scene.worker(), scene.worker()]);
    const runId = await scene.running(mine);
    const before = await scene.kept(runId);
    const refused = await other.send(runId, [log('intruder')]);
    expect(refused).toMatchObject({ status: 404, payload: { code: 'run.not_found' } });
    const missing = await other.send('run_of_nobody', [log('intruder')]);
    expect({ ...missing.payload, request_id: '' }).toEqual({ ...refused.payload, request_id: '' });
    expect((await other.send(runId, [7, null] as unknown as object[])).status).toBe(404);
    expect(await scene.kept(runId)).toEqual(before);
    expect(await scene.late(runId)).toEqual([]);
  });

  it('D-5: about another account’s run are 404, also under a run id that both accounts have', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const { key } = await scene.app.account();
    const stranger = await startStub(scene.app, key, { handle: worker.handle });
    expect((await stranger.send(runId, [log('intruder')])).status).toBe(404);
    expect((await scene.app.call('GET', `/api/v1/runs/${runId}/events`, { key })).status).toBe(404);
    expect(await scene.events(runId)).toEqual([]);
  });

  it('of another worker of the same agent are kept as late evidence and change nothing', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const colleague = await startStub(scene.app, scene.key, { handle: holder.handle, token: holder.token });
    const before = await scene.kept(runId);
    expect((await colleague.send(runId, [log('not mine'), output('not mine')])).status).toBe(202);
    expect(await scene.kept(runId)).toEqual(before);
    expect(await scene.late(runId)).toMatchObject([
      { kind: 'event', why: 'not_owner', attempt: null, worker_id: colleague.id },
      { kind: 'event', why: 'not_owner', attempt: null, worker_id: colleague.id },
    ]);
  });

  it('of an attempt that is over are kept as late evidence', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const before = await scene.kept(runId);
    const events = [{ ...log('of another attempt'), event_id: 'e', event_sequence: 1 }];
    expect((await worker.frame('run_events', { events, attempt: 7 }, { stream: runId })).status).toBe(202);
    expect(await scene.kept(runId)).toEqual(before);
    expect(await scene.late(runId)).toMatchObject([{ why: 'stale_attempt', attempt: 7 }]);
    await worker.frame('run_events', { events, attempt: 1 }, { stream: runId });
    expect(await scene.events(runId)).toHaveLength(1);
  });

  it('of a worker that lost the run to another one are kept under its own attempt', async () => {
    const first = await scene.worker();
    const runId = await scene.queue(first);
    await first.claimSoon();
    await first.claim(); // whoever asks while it holds an unstarted run has lost it
    const second = await startStub(scene.app, scene.key, { handle: first.handle, token: first.token });
    const [{ worker_id: holder }] = (await scene.app.database.query(`SELECT worker_id FROM run WHERE id = $1`, [
      runId,
    ])) as [{ worker_id: string | null }];
    if (holder === null) await second.claimSoon();
    const [{ worker_id: now, attempt }] = (await scene.app.database.query(
      `SELECT worker_id, attempt FROM run WHERE id = $1`,
      [runId],
    )) as [{ worker_id: string; attempt: number }];
    expect(attempt).toBe(2);
    const [owner, loser] = now === first.id ? [first, second] : [second, first];
    await owner.send(runId, [log('mine')]);
    await loser.send(runId, [log('not mine any more')]);
    expect(await scene.events(runId)).toMatchObject([{ content: 'mine', attempt: 2 }]);
    if (loser === first) expect(await scene.late(runId)).toMatchObject([{ why: 'stale_attempt', attempt: 1 }]);
  });
});

describe('events after the end', () => {
  it.each(['succeeded', 'failed', 'cancelled'])(
    'U-8: of a run that is %s change neither status nor output and are kept as late evidence',
    async (status) => {
      const worker = await scene.worker();
      const runId = await scene.running(worker);
      await worker.send(runId, [output('half'), { event_type: 'token.created', usage: { total_tokens: 5 } }]);
      if (status === 'succeeded') await worker.complete(runId, { text: 'whole' });
      else if (status === 'failed') await worker.fail(runId, 'it broke');
      else await scene.app.call('POST', `/api/v1/runs/${runId}/cancel`, { key: scene.key });
      const before = await scene.kept(runId);
      expect(before.run.status).toBe(status);
      const late = [
        log('too late'),
        output('other'),
        started('s'),
        ended('s'),
        { event_type: 'token.created', usage: { total_tokens: 99 } },
        log('x'.repeat(70_000)),
      ];
      expect((await worker.send(runId, late)).status).toBe(202);
      const { artifacts, ...after } = await scene.kept(runId);
      expect({ ...after, artifacts: before.artifacts }).toEqual(before);
      expect(artifacts).toHaveLength(1); // what was too large for the late event is not lost either
      const kept = await scene.late(runId);
      expect(kept).toHaveLength(6);
      expect(kept[0]).toMatchObject({
        kind: 'event',
        why: 'after_end',
        attempt: 1,
        worker_id: worker.id,
        content: { event: { content: 'too late' }, altered: [], truncated: [] },
      });
      expect(kept.flatMap(({ content }) => content.truncated)).toMatchObject([{ path: 'content', bytes: 70_000 }]);
    },
  );

  it('U-6: that come twice are kept once', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.complete(runId, {});
    const events = [{ ...log('late'), event_id: 'e', event_sequence: 1 }];
    for (let time = 0; time < 3; time += 1) await worker.frame('run_events', { events }, { stream: runId });
    expect(await scene.late(runId)).toHaveLength(1);
  });

  it('that overtake each other with the report are events or late evidence, and none is lost', async () => {
    const worker = await scene.worker();
    for (let round = 0; round < 10; round += 1) {
      const runId = await scene.running(worker);
      await Promise.all([
        ...Array.from({ length: 5 }, (_, index) => worker.send(runId, [log(`line ${index}`)])),
        worker.complete(runId, { text: 'end' }),
      ]);
      const [stored, late] = await Promise.all([scene.events(runId), scene.late(runId)]);
      expect(stored.length + late.length).toBe(5);
      expect(await scene.run(runId)).toMatchObject({ status: 'succeeded', output: { text: 'end' } });
    }
  });
});
