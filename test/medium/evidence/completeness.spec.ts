import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { startStub } from '../../support/stub-worker.ts';
import { Scene, ended, log, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const account = (runId: string): Promise<Json> => scene.get(`/api/v1/runs/${runId}/completeness`);
const named = (sequence: number, more: object = {}): object =>
  log(`line ${sequence}`, { event_id: 'evt_run', event_sequence: sequence, ...more });

describe('the account of what is missing', () => {
  it('of a run that nobody spoke of is empty, and not complete before its end', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const empty = {
      ...{ run_id: runId, complete: false, received: 0, stored: 0, duplicate: 0, refused: 0, refused_codes: {} },
      ...{ truncated: 0, altered: 0, late: 0, masked: 0, gaps: [], lost_batches: 0, orphan_spans: 0, open_spans: 0 },
      ...{ clock_skew_ms: null, first_at: null, last_at: null, sealed: null },
    };
    expect(await account(runId)).toEqual(empty);
    await worker.complete(runId, {});
    expect(await account(runId)).toEqual({ ...empty, complete: true });
  });

  it('counts what was stored, known, left out, cut and altered: received is their sum', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = [named(1), named(2), { no: 'type' }, 7, { event_type: 'log.created', level: 3 }];
    await worker.frame('run_events', { events }, { stream: runId });
    await worker.send(runId, [
      named(2),
      named(3, { content: 'x'.repeat(70_000) }),
      named(3),
      named(4, { content: 'a\0b' }),
    ]);
    await worker.send(runId, [named(1), named(2)]);
    await worker.send(runId, [{ no: 'type' }]);
    expect(await account(runId)).toMatchObject({
      ...{ received: 12, stored: 4, duplicate: 4, refused: 4, truncated: 1, altered: 1, lost_batches: 0, gaps: [] },
      refused_codes: { 'event.no_type': 2, 'event.not_object': 1, 'event.wrong_kind': 1 },
    });
    expect(await scene.events(runId)).toHaveLength(4);
  });

  it('counts a batch over REST and single messages, too', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const send = (path: string, body: object) =>
      scene.app.call('POST', `/api/v1/runs/${runId}/${path}`, {
        key: worker.token,
        body: { worker_id: worker.id, ...body },
      });
    for (let time = 0; time < 2; time += 1) {
      await send('events', { events: [named(1), 'nothing'] });
      await send('messages', { content: 'hi', event_id: 'evt_message', event_sequence: 1 });
    }
    expect(await account(runId)).toMatchObject({ received: 6, stored: 2, duplicate: 2, refused: 2 });
  });

  it('F-40: is exact over a batch that many send at once, each event once and every repeat counted', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const batch = Array.from({ length: 50 }, (_, index) => named(index));
    await Promise.all(Array.from({ length: 8 }, () => worker.send(runId, batch)));
    expect(await account(runId)).toMatchObject({ received: 400, stored: 50, duplicate: 350, refused: 0 });
  });

  it('names the batches that never came, for each attempt by itself; a batch without anything new did come', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const batch = (seq: number, events: readonly object[], attempt = 1): Promise<unknown> =>
      worker.frame('run_events', { events, attempt }, { stream: runId, seq });
    await batch(1, [named(1)]);
    await batch(2, [named(1)]);
    await batch(6, [{ no: 'type' }]);
    await batch(4, [named(2)]);
    await batch(4, [named(3)]);
    expect(await account(runId)).toMatchObject({
      gaps: [
        { attempt: 1, stream: runId, from: 0, to: 0 },
        { attempt: 1, stream: runId, from: 3, to: 3 },
        { attempt: 1, stream: runId, from: 5, to: 5 },
      ],
      lost_batches: 3,
      complete: false,
    });
    await worker.complete(runId, {});
    expect(await account(runId)).toMatchObject({ complete: false });
    await batch(9, [named(9)]);
    expect((await account(runId)).gaps.at(-1)).toEqual({ attempt: 1, stream: runId, from: 7, to: 8 });
  });

  it('keeps what came late apart, and a repeat of it is a repeat', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const stranger = await startStub(scene.app, scene.key, { handle: worker.handle, token: worker.token });
    for (let time = 0; time < 2; time += 1) await stranger.send(runId, [named(1, { content: 'n\0' }), { no: 'type' }]);
    await worker.complete(runId, {});
    await worker.send(runId, [named(2)]);
    expect(await account(runId)).toMatchObject({
      ...{ complete: false, received: 5, stored: 2, duplicate: 1, refused: 2, altered: 1, late: 2, gaps: [] },
    });
    expect(await scene.get(`/api/v1/runs/${runId}/late`)).toHaveLength(2);
  });

  it('F-42: counts spans whose parent is missing and those that never ended', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [
      started('child', { parent_span_id: 'root' }),
      started('lost', { parent_span_id: 'x' }),
      ended('lost'),
    ]);
    expect(await account(runId)).toMatchObject({ orphan_spans: 2, open_spans: 1 });
    await worker.send(runId, [started('root', { kind: 'agent' }), ended('child'), ended('root', { kind: 'agent' })]);
    expect(await account(runId)).toMatchObject({ orphan_spans: 1, open_spans: 0 });
  });

  it('F-43: says how far the clocks are apart, and when the first and the last events came by ours', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const before = Date.now();
    for (const offset of [-90_000, 7_200_000])
      await worker.send(runId, [log('tick', { timestamp: new Date(Date.now() + offset).toISOString() })]);
    const { clock_skew_ms: skew, first_at: first, last_at: last } = await account(runId);
    expect(Math.abs(skew.min + 90_000)).toBeLessThan(10_000);
    expect(Math.abs(skew.max - 7_200_000)).toBeLessThan(10_000);
    expect(Date.parse(first)).toBeLessThanOrEqual(Date.parse(last));
    expect(Math.abs(Date.parse(first) - before)).toBeLessThan(10_000);
  });
});
