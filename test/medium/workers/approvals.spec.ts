import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type RunningApp } from '../../support/app.ts';
import { StubWorker, pause } from '../../support/stub-worker.ts';
import { eventually } from '../../support/rest.ts';
import { Asking } from '../gateway/asking.ts';

let asking: Asking;
let other: RunningApp;
beforeAll(async () => {
  asking = await Asking.open({ SIGNALBOX_SWEEP_SECONDS: '0.2' });
  other = await startApp({ env: { SIGNALBOX_SWEEP_SECONDS: '0.2' }, database: asking.scene.app.database });
  await pause(1_100); // until both know that they are two
});
afterAll(async () => {
  await other.stop();
  await asking.close();
});

async function asked() {
  const worker = await asking.scene.worker();
  const runId = await asking.scene.running(worker);
  const { approval_id: id } = await asking.ask(worker, runId);
  return { worker, runId, id };
}

const heard = (worker: StubWorker) => worker.heard.filter(({ type }) => type === 'action_approval_decided');

describe('what was decided', () => {
  it.each(['approved', 'denied'])('%s goes down the worker’s channel, and says by whom and why', async (state) => {
    const { worker, id } = await asked();
    await worker.open();
    await asking.decide(id, { state, comment: 'as agreed' });
    const frame = await worker.hears('action_approval_decided');
    expect(Object.keys(frame).sort()).toEqual(['id', 'payload', 'type']);
    expect(frame.payload).toEqual({
      approval_id: id,
      state,
      comment: 'as agreed',
      decided_by: expect.stringMatching(/^owner@/),
      decided_via: 'inbox',
    });
    await eventually(async () => expect((await asking.show(id)).delivered_at).not.toBeNull());
    await pause(600); // several sweeps
    expect(heard(worker)).toEqual([]); // once on a channel
    worker.close();
  });

  it('reaches a channel on another replica', async () => {
    const { worker, id } = await asked();
    const elsewhere = new StubWorker(other.url, worker.token, { handle: worker.handle, workerId: worker.id });
    await elsewhere.open();
    await asking.decide(id, { state: 'approved' });
    expect((await elsewhere.hears('action_approval_decided')).payload.approval_id).toBe(id);
    elsewhere.close();
  });

  it('is repeated on every new channel until the worker asks again', async () => {
    const { worker, runId, id } = await asked();
    await asking.decide(id, { state: 'approved' }); // while there is no channel
    for (let channel = 0; channel < 3; channel += 1) {
      await worker.open();
      expect((await worker.hears('action_approval_decided')).payload).toMatchObject({
        approval_id: id,
        state: 'approved',
      });
      worker.close();
    }
    expect(await asking.ask(worker, runId)).toMatchObject({ approval_id: id, state: 'approved' });
    await worker.open();
    await pause(700);
    expect(heard(worker)).toEqual([]);
    worker.close();
  });

  it('is repeated no more once the run has ended', async () => {
    const { worker, runId, id } = await asked();
    await asking.decide(id, { state: 'denied' });
    await worker.complete(runId, {});
    await eventually(async () => expect((await asking.row(id)).settled_at).not.toBeNull());
    await worker.open();
    await pause(700);
    expect(heard(worker)).toEqual([]);
    worker.close();
  });

  it('is also that nobody decided in time', async () => {
    const { worker, id } = await asked();
    await worker.open();
    await asking.expire(id);
    expect((await worker.hears('action_approval_decided')).payload).toEqual({ approval_id: id, state: 'expired' });
    worker.close();
  });

  it('reaches only the worker that asked', async () => {
    const { worker, id } = await asked();
    const colleague = new StubWorker(asking.scene.app.url, worker.token, { handle: worker.handle });
    await colleague.register();
    await colleague.open();
    await worker.open();
    await asking.decide(id, { state: 'approved' });
    await worker.hears('action_approval_decided');
    expect(heard(colleague)).toEqual([]);
    worker.close();
    colleague.close();
  });
});
