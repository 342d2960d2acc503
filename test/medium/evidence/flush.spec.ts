import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';
import { startStub, type StubWorker } from '../../support/stub-worker.ts';

let app: RunningApp;
let key: string;
let otherKey: string;
let handles = 0;

beforeAll(async () => {
  app = await startApp();
  ({ key } = await app.account());
  ({ key: otherKey } = await app.account());
});
afterAll(() => app.stop());

const stub = (whose = key): Promise<StubWorker> => startStub(app, whose, { handle: `flusher-${(handles += 1)}` });
const started = async (worker: StubWorker, whose = key): Promise<string> => {
  const { json } = await app.call('POST', '/api/v1/runs', { key: whose, body: { agent_id: worker.handle } });
  await worker.claimSoon();
  await worker.start(json.run_id);
  return json.run_id;
};
const post = (worker: StubWorker, body: unknown) =>
  app.call('POST', '/api/v1/hooks/events', { key: worker.token, body });
const flush = (worker: StubWorker, events: readonly unknown[], id: unknown = 'flush_7') =>
  post(worker, { jsonrpc: '2.0', id, method: 'hooks/events', params: { worker_id: worker.id, events } });
const log = (runId: unknown, content: string, more: object = {}) => ({
  run_id: runId,
  event_type: 'log.created',
  level: 'INFO',
  content,
  ...more,
});
const eventsOf = async (runId: string, whose = key): Promise<Json[]> =>
  (await app.call('GET', `/api/v1/runs/${runId}/events`, { key: whose })).json;
const contentsOf = async (runId: string): Promise<string[]> =>
  (await eventsOf(runId)).filter(({ event_type: type }) => type === 'log.created').map(({ content }) => content);
const accountOf = async (runId: string): Promise<Json> =>
  (await app.call('GET', `/api/v1/runs/${runId}/completeness`, { key })).json;

describe('a flush', () => {
  it('stores each run’s part, and leaves out what belongs to no run of the agent', async () => {
    const [worker, stranger, foreign] = [await stub(), await stub(), await stub(otherKey)];
    const [mine, own] = [await started(worker), `run_${randomUUID()}`];
    await worker.frame('trigger_agent', { run_id: own });
    const theirs = await started(stranger);
    const elsewhere = await started(foreign, otherKey);
    const answer = await flush(worker, [
      log(mine, 'one'),
      log('unknown', 'of the process'),
      log(own, 'two'),
      log(theirs, 'stolen'),
      log(elsewhere, 'stolen'),
      log(`run_${randomUUID()}`, 'nowhere'),
      log(mine, 'three'),
    ]);
    const unknown = (index: number) => ({ index, code: 'event.unknown_run' });
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 200,
      json: { jsonrpc: '2.0', id: 'flush_7', result: { events: 3, refused: [1, 3, 4, 5].map(unknown) } },
    });
    expect([await contentsOf(mine), await contentsOf(own), await contentsOf(theirs)]).toEqual([
      ['one', 'three'],
      ['two'],
      [],
    ]);
    expect(JSON.stringify(await eventsOf(elsewhere, otherKey))).not.toContain('stolen');
    for (const event of await eventsOf(mine)) expect(event).not.toHaveProperty('run_id');
  });

  it('sent again whole and in halves changes nothing, and is answered as stored', async () => {
    const worker = await stub();
    const runId = await started(worker);
    const timestamp = new Date().toISOString();
    const events = Array.from({ length: 10 }, (_, n) => log(runId, `line ${n}`, { timestamp }));
    for (const batch of [events, events, events.slice(0, 5), events.slice(5), ...events.map((event) => [event])])
      expect((await flush(worker, batch)).json.result).toEqual({ events: batch.length, refused: [] });
    expect(await contentsOf(runId)).toEqual(events.map(({ content }) => content));
    expect(JSON.stringify(await accountOf(runId))).toContain('"duplicate":30');
  });

  it('holds an event to be the same that came to the run itself, whatever the order of its keys', async () => {
    const worker = await stub();
    const runId = await started(worker);
    const { run_id: _, ...event } = log(runId, 'once', { payload: { a: 1, b: 2 } });
    await app.call('POST', `/api/v1/runs/${runId}/events`, {
      key: worker.token,
      body: { worker_id: worker.id, events: [event] },
    });
    await flush(worker, [
      { payload: { b: 2, a: 1 }, content: 'once', level: 'INFO', event_type: 'log.created', run_id: runId },
    ]);
    expect(await contentsOf(runId)).toEqual(['once']);
  });

  it('leaves out what cannot be an event by its place, and keeps the rest', async () => {
    const worker = await stub();
    const runId = await started(worker);
    const answer = await flush(worker, [
      7,
      null,
      { run_id: runId },
      log(runId, 'good'),
      log(runId, 'bad', { payload: 'text' }),
      { event_type: 'log.created', content: 'of no run' },
      log(7, 'of no run'),
      log('', 'of no run'),
      log('r'.repeat(201), 'of no run'),
    ]);
    expect(answer.json.result).toEqual({
      events: 1,
      refused: [
        { index: 0, code: 'event.not_object' },
        { index: 1, code: 'event.not_object' },
        { index: 2, code: 'event.no_type' },
        { index: 4, code: 'event.wrong_kind' },
        ...[5, 6, 7, 8].map((index) => ({ index, code: 'event.unknown_run' })),
      ],
    });
    expect(await contentsOf(runId)).toEqual(['good']);
    expect(JSON.stringify(await accountOf(runId))).toMatch(/"refused":2/);
  });

  it('after the end, or from a worker that does not hold the run, is kept as late evidence', async () => {
    const worker = await stub();
    const ended = await started(worker);
    await worker.complete(ended, { text: 'done' });
    const running = await started(worker);
    expect((await flush(worker, [log(ended, 'late'), log(running, 'in time')])).json.result.events).toBe(2);
    expect([await contentsOf(ended), await contentsOf(running)]).toEqual([[], ['in time']]);
    const late = (await app.call('GET', `/api/v1/runs/${ended}/late`, { key })).json;
    expect(late).toMatchObject([{ why: 'after_end', event: { content: 'late' } }]);
  });

  it('keeps NUL, half surrogates and numbers that no double holds, marked as altered', async () => {
    const worker = await stub();
    const runId = await started(worker);
    const event = `{"run_id":${JSON.stringify(runId)},"event_type":"log.created","content":"a\\u0000\\ud800","payload":{"n":9007199254740993}}`;
    const body = `{"jsonrpc":"2.0","id":1,"method":"hooks/events","params":{"worker_id":${JSON.stringify(worker.id)},"events":[${event}]}}`;
    expect((await post(worker, body)).json).toEqual({ jsonrpc: '2.0', id: 1, result: { events: 1, refused: [] } });
    const [stored] = (await eventsOf(runId)).filter(({ event_type: type }) => type === 'log.created');
    expect(stored).toMatchObject({
      content: 'a\ufffd\ufffd',
      payload: { n: '9007199254740993' },
      altered: expect.arrayContaining(['content', 'payload.n']),
    });
  });

  it('masks what was handed out with the run', async () => {
    const worker = await stub();
    const secret = `hunter-${randomUUID()}`;
    const credential = await app.call('POST', '/api/v1/credentials', {
      key,
      body: { name: `c${handles}`, value: secret },
    });
    await app.call('POST', `/api/v1/credentials/${credential.json.id}/bindings`, {
      key,
      body: { agent_id: worker.handle },
    });
    const runId = await started(worker);
    await flush(worker, [log(runId, `the password is ${secret}.`, { payload: { secret } })]);
    const text = JSON.stringify(await eventsOf(runId));
    expect(text).toContain('the password is');
    expect(text).not.toContain(secret);
  });

  it.each([
    ['nothing', undefined, -32600, null],
    ['a list', [], -32600, null],
    ['a text', '"text"', -32600, null],
    ['no version', { id: 1, method: 'hooks/events', params: {} }, -32600, 1],
    ['an id that is no id', { jsonrpc: '2.0', id: {}, method: 'hooks/events', params: {} }, -32600, null],
    ['no method', { jsonrpc: '2.0', id: 'a', params: {} }, -32600, 'a'],
    ['another method', { jsonrpc: '2.0', id: 'a', method: 'hooks/other', params: {} }, -32601, 'a'],
    ['no parameters', { jsonrpc: '2.0', id: 'a', method: 'hooks/events' }, -32602, 'a'],
    ['no worker', { jsonrpc: '2.0', id: 'a', method: 'hooks/events', params: { events: [] } }, -32602, 'a'],
    [
      'a worker of no length',
      { jsonrpc: '2.0', id: 'a', method: 'hooks/events', params: { worker_id: '', events: [] } },
      -32602,
      'a',
    ],
    [
      'events that are no list',
      { jsonrpc: '2.0', id: 'a', method: 'hooks/events', params: { worker_id: 'w', events: {} } },
      -32602,
      'a',
    ],
  ])('that is %s is told so in the terms of JSON-RPC', async (_what, body, code, id) => {
    const answer = await post(await stub(), body);
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 200,
      json: { jsonrpc: '2.0', id, error: { code, message: expect.any(String) } },
    });
  });

  it('of 1,001 events is 413 and stores none; without a worker token it is refused', async () => {
    const worker = await stub();
    const runId = await started(worker);
    const many = await flush(
      worker,
      Array.from({ length: 1_001 }, (_, n) => log(runId, `${n}`)),
    );
    expect(many).toMatchObject({ status: 413, json: { code: 'event.too_many' } });
    expect(await contentsOf(runId)).toEqual([]);
    const body = { jsonrpc: '2.0', id: 1, method: 'hooks/events', params: { worker_id: worker.id, events: [] } };
    expect((await app.call('POST', '/api/v1/hooks/events', { body })).status).toBe(401);
    expect((await app.call('POST', '/api/v1/hooks/events', { key, body })).status).toBe(403);
    expect((await flush(worker, [])).json.result).toEqual({ events: 0, refused: [] });
  });
});
