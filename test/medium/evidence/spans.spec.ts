import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { Scene, ended, log, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const by = (spans: readonly Json[], id: string): Json => spans.find(({ span_id: spanId }) => spanId === id);

describe('the spans of a run', () => {
  it('K-48: are a tree with times and outcome', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const at = (second: number) => new Date(Date.now() - 10_000 + second * 1_000).toISOString();
    await worker.send(runId, [
      started('root', { kind: 'agent', name: 'plan', timestamp: at(0) }),
      started('middle', { kind: 'chain', parent_span_id: 'root', timestamp: at(1) }),
      started('leaf', { parent_span_id: 'middle', timestamp: at(2) }),
      ended('leaf', { status: 'error', timestamp: at(4) }),
      ended('middle', { kind: 'chain', timestamp: at(5) }),
    ]);
    const spans = await scene.spans(runId);
    expect(spans.map(({ span_id: id, parent_span_id: parent, orphan }: Json) => [id, parent, orphan])).toEqual([
      ['root', null, false],
      ['middle', 'root', false],
      ['leaf', 'middle', false],
    ]);
    expect(by(spans, 'leaf')).toMatchObject({
      kind: 'tool',
      status: 'error',
      duration_ms: 2_000,
      clock_skewed: false,
      attempt: 1,
    });
    expect(by(spans, 'middle')).toMatchObject({ status: 'ok', duration_ms: 4_000 });
    expect(by(spans, 'root')).toMatchObject({
      name: 'plan',
      status: null,
      ended_at: null,
      duration_ms: null,
      started_at: expect.stringMatching(/Z$/),
    });
  });

  it('F-42: whose parent comes later, or never, are shown and marked until it comes', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [
      started('child', { parent_span_id: 'late' }),
      ended('child'),
      started('lost', { parent_span_id: 'never' }),
    ]);
    expect((await scene.spans(runId)).map(({ orphan }: Json) => orphan)).toEqual([true, true]);
    await worker.send(runId, [ended('late', { kind: 'agent' })]);
    await worker.send(runId, [started('late', { kind: 'agent', name: 'the parent' })]);
    const spans = await scene.spans(runId);
    expect(spans.map(({ span_id: id, orphan }: Json) => [id, orphan])).toEqual([
      ['child', false],
      ['lost', true],
      ['late', false],
    ]);
    expect(by(spans, 'late')).toMatchObject({ kind: 'agent', name: 'the parent', status: 'ok' });
  });

  it.each([
    ['a clock 90 s behind', -90_000, true],
    ['a clock two hours ahead', 7_200_000, true],
    ['a clock that is right', 0, false],
    ['a batch that waited for 20 s', -20_000, false],
  ])('F-43: of a worker with %s keep its times, and say so', async (_, offset, isSkewed) => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const at = new Date(Date.now() + offset).toISOString();
    await worker.send(runId, [started('s', { timestamp: at }), ended('s', { timestamp: at })]);
    expect(await scene.spans(runId)).toMatchObject([
      { started_at: at, ended_at: at, duration_ms: 0, clock_skewed: isSkewed },
    ]);
    const [event] = await scene.events(runId);
    expect(event.timestamp).toBe(at);
    expect(Math.abs(Date.parse(event.received_at) - Date.now())).toBeLessThan(10_000);
  });

  it('F-43: that end before they begin last no time, in one batch and in two', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const [early, late] = [new Date(Date.now() - 3_000).toISOString(), new Date().toISOString()];
    await worker.send(runId, [
      started('one', { timestamp: late }),
      ended('one', { timestamp: early }),
      started('two', { timestamp: late }),
    ]);
    await worker.send(runId, [ended('two', { timestamp: early })]);
    for (const span of await scene.spans(runId)) expect(span).toMatchObject({ duration_ms: 0, clock_skewed: true });
  });

  it('keep the order in which they were seen first, whatever comes later', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(
      runId,
      Array.from({ length: 25 }, (_, index) => started(`s${index}`)),
    );
    const path = `/api/v1/runs/${runId}/spans?limit=10`;
    const first = await scene.app.call('GET', path, { key: scene.key });
    await worker.send(runId, [ended('s3'), ended('s20'), started('s25')]);
    const second = await scene.app.call('GET', `${path}&cursor=${first.headers.get('x-next-cursor')}`, {
      key: scene.key,
    });
    const third = await scene.app.call('GET', `${path}&cursor=${second.headers.get('x-next-cursor')}`, {
      key: scene.key,
    });
    const read = [first, second, third].flatMap(({ json }) => json as Json[]);
    expect(read.map(({ span_id: id }) => id)).toEqual(Array.from({ length: 26 }, (_, index) => `s${index}`));
    expect(third.headers.get('x-next-cursor')).toBeNull();
  });

  it('are found by kind and status, and by what has changed since', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [started('a', { kind: 'llm' }), started('b'), ended('b', { status: 'error' })]);
    const last = (await scene.events(runId)).at(-1).seq;
    await worker.send(runId, [log('between'), started('c'), ended('a', { kind: 'llm' })]);
    const found = async (query: string) => (await scene.spans(runId, query)).map(({ span_id: id }: Json) => id);
    expect(await found('?kind=llm')).toEqual(['a']);
    expect(await found('?status=error')).toEqual(['b']);
    expect(await found(`?changed_after=${last}`)).toEqual(['c', 'a']);
    expect(await found(`?changed_after=${last + 100}`)).toEqual([]);
  });

  it('may have ids of any form; one that fits into no index is an event all the same', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ids = ['a/b c?d', '__proto__', 'é😀', 'x'.repeat(1_001)];
    await worker.send(
      runId,
      ids.map((id) => started(id)),
    );
    expect((await scene.spans(runId)).map(({ span_id: id }: Json) => id)).toEqual(ids.slice(0, 3));
    expect(await scene.events(runId)).toHaveLength(4);
    for (const id of ids.slice(0, 3))
      expect((await scene.get(`/api/v1/runs/${runId}/spans/${encodeURIComponent(id)}`)).span_id).toBe(id);
  });
});

describe('one span', () => {
  it('D-15: holds the real arguments and result of a tool, model and usage of a model, and its events', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const usage = {
      model: 'claude-sonnet-4-5',
      input_tokens: 60,
      output_tokens: 40,
      total_tokens: 100,
      cost_amount: 0.5,
    };
    await worker.send(runId, [
      started('lookup', { trace_id: runId, payload: { args: { q: 'life', n: 42 } } }),
      log('inside', { span_id: 'lookup' }),
      ended('lookup', { payload: { hits: [1, 2], answer: 'forty-two' } }),
      started('ask', { kind: 'llm', payload: { model: 'claude-sonnet-4-5' } }),
      ended('ask', { kind: 'llm', payload: { call_usage: usage, stop_reason: 'end_turn' } }),
    ]);
    const tool = await scene.get(`/api/v1/runs/${runId}/spans/lookup`);
    expect(tool).toMatchObject({
      trace_id: runId,
      input: { q: 'life', n: 42 },
      output: { hits: [1, 2], answer: 'forty-two' },
      attributes: {},
      usage: null,
      replay: null,
      masked: {},
    });
    expect(tool.events.map(({ event_type: type }: Json) => type)).toEqual([
      'span.started',
      'log.created',
      'span.ended',
    ]);
    expect(await scene.get(`/api/v1/runs/${runId}/spans/ask`)).toMatchObject({
      usage,
      total_tokens: 100,
      cost_amount: 0.5,
      attributes: { model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
    });
  });

  it('whose result was too large names the artifact that has it', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const blob = 'b'.repeat(100_000);
    await worker.send(runId, [started('dump'), ended('dump', { payload: { result: blob } })]);
    const { output, truncated } = await scene.get(`/api/v1/runs/${runId}/spans/dump`);
    expect(output).toBe(blob.slice(0, 1_024));
    expect(truncated).toMatchObject([{ path: 'payload.result', bytes: 100_000 }]);
    expect((await scene.get(`/api/v1/runs/${runId}/artifacts/${truncated[0].artifact_id}`)).content).toBe(blob);
  });

  it('that has begun a thousand events ago still has both its ends', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [
      started('long', { payload: { args: 1 } }),
      ...Array.from({ length: 1_100 }, () => log('tick', { span_id: 'long' })),
      ended('long', { payload: { result: 2 } }),
    ]);
    const { input, output, events } = await scene.get(`/api/v1/runs/${runId}/spans/long`);
    expect([input, output, events.length]).toEqual([1, 2, 1_000]);
  });
});

describe('F-48: under the address of another run', () => {
  it('spans and artifacts do not exist', async () => {
    const worker = await scene.worker();
    const mine = await scene.running(worker);
    await worker.send(mine, [started('secret'), log('x'.repeat(70_000))]);
    const [artifact] = await scene.get(`/api/v1/runs/${mine}/artifacts`);
    await worker.complete(mine, {});
    const another = await scene.running(worker);
    for (const path of [`spans/secret`, `artifacts/${artifact.artifact_id}`]) {
      expect((await scene.app.call('GET', `/api/v1/runs/${mine}/${path}`, { key: scene.key })).status).toBe(200);
      expect((await scene.app.call('GET', `/api/v1/runs/${another}/${path}`, { key: scene.key })).status).toBe(404);
      expect((await scene.app.call('GET', `/api/v1/runs/nobody/${path}`, { key: scene.key })).status).toBe(404);
    }
    const { key } = await scene.app.account();
    expect(
      (await scene.app.call('GET', `/api/v1/runs/${mine}/artifacts/${artifact.artifact_id}`, { key })).status,
    ).toBe(404);
  });
});
