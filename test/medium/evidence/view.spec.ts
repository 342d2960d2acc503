import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { Scene, ended, log, output, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const contents = (events: readonly { readonly content?: string }[]) => events.map(({ content }) => content);

async function pagesOf(path: string): Promise<Json[][]> {
  const pages: Json[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const { json, headers } = await scene.app.call('GET', `${path}${cursor === '' ? '' : `&cursor=${cursor}`}`, {
      key: scene.key,
    });
    pages.push(json);
    cursor = headers.get('x-next-cursor');
  }
  return pages;
}

describe('what a run shows', () => {
  it('D-14 D-16: is what its worker has said so far, while it goes on, and nothing more', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect(await scene.events(runId)).toEqual([]);
    await worker.send(runId, [
      log('first'),
      { event_type: 'token.created', usage: { input_tokens: 5, output_tokens: 2 } },
    ]);
    expect(contents(await scene.events(runId))).toEqual(['first', undefined]);
    expect(await scene.run(runId)).toMatchObject({ status: 'running', usage: { input_tokens: 5, total_tokens: 7 } });
    await worker.send(runId, [log('second'), { event_type: 'token.created', payload: { total_tokens: 20 } }]);
    expect(contents(await scene.events(runId)).filter(Boolean)).toEqual(['first', 'second']);
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 20 });
  });

  it('K-52: is the latest output, whichever way it came', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await scene.run(runId)).output).toBeNull();
    await worker.send(runId, [output('a'), output('ab')]);
    expect((await scene.run(runId)).output).toEqual({ text: 'ab' });
    await worker.send(runId, [{ event_type: 'output.updated', payload: { rows: [1] } }]);
    expect((await scene.run(runId)).output).toEqual({ rows: [1] });
    await worker.send(runId, [output('x'.repeat(100_000))]);
    expect((await scene.run(runId)).output).toEqual({ text: 'x'.repeat(100_000) });
    await worker.complete(runId, { text: 'final' });
    expect((await scene.run(runId)).output).toEqual({ text: 'final' });
  });
});

describe('the usage of a run', () => {
  const model = (id: string, tokens: number, more: object = {}) => [
    started(id, { kind: 'llm', parent_span_id: 'agent' }),
    ended(id, {
      kind: 'llm',
      parent_span_id: 'agent',
      payload: { call_usage: { model: 'm', total_tokens: tokens, cost_amount: 0.25, ...more } },
    }),
  ];

  it('K-53 F-46: is the sum of its leaf spans; a total on an outer span is shown, not added', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [started('agent', { kind: 'agent' }), ...model('call1', 60)]);
    expect((await scene.run(runId)).usage).toEqual({ model: 'm', total_tokens: 60, cost_amount: 0.25 });
    await worker.send(runId, model('call2', 40));
    expect((await scene.run(runId)).usage).toEqual({ model: 'm', total_tokens: 100, cost_amount: 0.5 });
    await worker.send(runId, [
      ended('agent', { kind: 'agent', payload: { usage: { model: 'm', total_tokens: 100 } } }),
    ]);
    expect((await scene.run(runId)).usage).toEqual({ model: 'm', total_tokens: 100, cost_amount: 0.5 });
    expect((await scene.spans(runId)).map(({ total_tokens: tokens }: { total_tokens: number }) => tokens)).toEqual([
      100, 60, 40,
    ]);
  });

  it('F-46: leaves are found through spans that say nothing of usage, and before their parents are known', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [ended('root', { kind: 'agent', usage: { total_tokens: 100 } })]);
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 100 });
    await worker.send(runId, [ended('leaf', { kind: 'llm', parent_span_id: 'middle', usage: { total_tokens: 60 } })]);
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 160 }); // nobody knows yet that the one contains the other
    await worker.send(runId, [
      started('middle', { kind: 'chain', parent_span_id: 'root' }),
      ended('leaf2', { kind: 'llm', parent_span_id: 'middle', usage: { total_tokens: 40 } }),
    ]);
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 100 });
  });

  it('F-46: spans in a ring do not stop the record', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const ring = ['a', 'b', 'c'].map((id, index, ids) =>
      ended(id, { parent_span_id: ids[(index + 1) % 3], usage: { total_tokens: 1 } }),
    );
    expect(
      (await worker.send(runId, [...ring, ended('self', { parent_span_id: 'self', usage: { total_tokens: 5 } })]))
        .status,
    ).toBe(202);
    expect(await scene.spans(runId)).toHaveLength(4);
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 5 });
  });

  it('is the worker’s own running total where it keeps one, and its report at the end', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, model('call1', 60));
    await worker.send(runId, [{ event_type: 'token.created', usage: { total_tokens: 70 } }]);
    await worker.send(runId, model('call2', 40));
    expect((await scene.run(runId)).usage).toEqual({ total_tokens: 70 });
    await worker.complete(runId, {}, { usage: { total_tokens: 123 } });
    expect((await scene.run(runId)).usage).toMatchObject({ total_tokens: 123 });
  });
});

describe('the events of a run', () => {
  it('K-49 K-50: are found by type, level, span and text, in order, page after page', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [
      log('a line of info', { level: 'info' }),
      log('a line of WARNING', { level: 'WARNING', span_id: 's1' }),
      log('a line of "error"', { level: 'ERROR' }),
      { event_type: 'message.created', role: 'user', content: 'a question' },
      { event_type: 'message.created', role: 'assistant', content: 'an answer', span_id: 's1' },
    ]);
    const found = async (query: string) => contents(await scene.events(runId, query));
    expect(await found('&type=log.created')).toEqual(['a line of info', 'a line of WARNING', 'a line of "error"']);
    expect(await found('&type=log.created&type=message.created')).toHaveLength(5);
    expect(await found('&type=message.created')).toEqual(['a question', 'an answer']);
    expect(await found('&level=warning')).toEqual(['a line of WARNING']);
    expect(await found('&span_id=s1')).toEqual(['a line of WARNING', 'an answer']);
    expect(await found('&q=LINE OF W')).toEqual(['a line of WARNING']);
    expect(await found('&q="error"')).toEqual(['a line of "error"']);
    expect(await found('&type=nothing.like.it')).toEqual([]);
    const { messages } = await scene.run(runId);
    expect(messages.map(({ role, content }: { role: string; content: string }) => [role, content])).toEqual([
      ['user', 'a question'],
      ['assistant', 'an answer'],
    ]);
  });

  it('are read in pages that fit together', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(
      runId,
      Array.from({ length: 25 }, (_, index) => log(`line ${index}`)),
    );
    const pages = await pagesOf(`/api/v1/runs/${runId}/events?limit=10`);
    expect(pages.map(({ length }) => length)).toEqual([10, 10, 5]);
    expect(contents(pages.flat())).toEqual(Array.from({ length: 25 }, (_, index) => `line ${index}`));
    const last = (await scene.events(runId)).at(-1).seq;
    expect(await scene.get(`/api/v1/runs/${runId}/events?after=${last - 1}`)).toHaveLength(1);
    expect(await scene.get(`/api/v1/runs/${runId}/events?after=${last}`)).toEqual([]);
  });

  it('of a megabyte each come in pages of a few, and none is missing', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const random = randomBytes(30_000).toString('hex');
    const payload = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`part${index}`, random]));
    for (let batch = 0; batch < 10; batch += 1)
      await worker.send(runId, [{ event_type: 'custom.created', payload, name: `n${batch}` }]);
    const pages = await pagesOf(`/api/v1/runs/${runId}/events?limit=1000`);
    expect(pages.length).toBeGreaterThan(1);
    expect(pages.flat().map(({ name }) => name)).toEqual(Array.from({ length: 10 }, (_, index) => `n${index}`));
  });

  it.each(['after=-1', 'after=x', 'limit=0', 'limit=1001', 'cursor=zz', `q=${'x'.repeat(201)}`])(
    'asked for with %s are 422',
    async (query) => {
      const worker = await scene.worker();
      const runId = await scene.running(worker);
      expect((await scene.app.call('GET', `/api/v1/runs/${runId}/events?${query}`, { key: scene.key })).status).toBe(
        422,
      );
    },
  );
});

describe('a message over REST', () => {
  const say = (runId: string, worker: { readonly token: string; readonly id: string }, body: object) =>
    scene.app.call('POST', `/api/v1/runs/${runId}/messages`, {
      key: worker.token,
      body: { worker_id: worker.id, ...body },
    });

  it('K-50: is answered with its number and read with its role', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const first = await say(runId, worker, { content: 'hello' });
    expect(first).toMatchObject({
      status: 200,
      json: { run_id: runId, content: 'hello', role: 'assistant', message_type: 'progress', id: expect.any(Number) },
    });
    const second = await say(runId, worker, {
      content: 'data',
      role: 'tool',
      message_type: 'data',
      payload: { rows: 1 },
    });
    expect(second.json.id).toBeGreaterThan(first.json.id);
    expect((await scene.run(runId)).messages).toMatchObject([first.json, second.json]);
  });

  it('with a name is the same message when it comes again; without one two equal messages are two', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const named = { content: 'once', event_id: 'm', event_sequence: 1 };
    const [first, again] = [
      await say(runId, worker, named),
      await say(runId, worker, { ...named, content: 'changed' }),
    ];
    expect(again.json).toEqual(first.json);
    await say(runId, worker, { content: 'twice' });
    await say(runId, worker, { content: 'twice' });
    expect(contents(await scene.events(runId))).toEqual(['once', 'twice', 'twice']);
  });

  it('U-8: after the end is 409 and kept as late evidence; of another agent it is 404', async () => {
    const [worker, other] = await Promise.all([scene.worker(), scene.worker()]);
    const runId = await scene.running(worker);
    expect((await say(runId, other, { content: 'intruder' })).json).toMatchObject({ code: 'run.not_found' });
    expect((await say(runId, { token: worker.token, id: 'wrk_other' }, { content: 'stranger' })).json).toMatchObject({
      code: 'run.stale_attempt',
    });
    await worker.complete(runId, {});
    expect(await say(runId, worker, { content: 'too late' })).toMatchObject({
      status: 409,
      json: { code: 'run.terminal' },
    });
    expect(await scene.late(runId)).toMatchObject([
      { kind: 'message', why: 'not_owner' },
      { kind: 'message', why: 'after_end' },
    ]);
    expect((await scene.run(runId)).messages).toEqual([]);
  });

  it('that holds what cannot be stored is altered, not refused', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await say(runId, worker, { content: 'a\0b', payload: { x: '\0' } })).json).toMatchObject({
      content: 'a\ufffdb',
    });
    expect(await scene.events(runId)).toMatchObject([{ altered: ['content', 'payload.x'] }]);
  });

  it.each([
    {},
    { content: 7 },
    { content: 'x', role: 'god' },
    { content: 'x', message_type: 'gossip' },
    { content: 'x', event_sequence: 1.5 },
  ])('of another shape is 422: %j', async (body) => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await say(runId, worker, body)).status).toBe(422);
  });
});
