import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Scene, ended, log, output, started } from './scene.ts';

let scene: Scene;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const contents = (events: readonly { readonly content?: string }[]) => events.map(({ content }) => content);
const named = (events: readonly object[], id = 'evt_same') =>
  events.map((event, index) => ({ event_id: id, event_sequence: index + 1, ...event }));

describe('a batch', () => {
  it('K-27 F-35: of 50 events with one id is 50 events, in the order in which they were sent', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = named(Array.from({ length: 50 }, (_, index) => log(`line ${index}`)));
    expect((await worker.frame('run_events', { events }, { stream: runId, seq: 0 })).status).toBe(202);
    const stored = await scene.events(runId);
    expect(contents(stored)).toEqual(Array.from({ length: 50 }, (_, index) => `line ${index}`));
    const numbers = stored.map(({ seq }: { seq: number }) => seq);
    expect(numbers).toEqual(numbers.toSorted((one: number, other: number) => one - other));
    expect(stored[0]).toMatchObject({
      event_type: 'log.created',
      event_id: 'evt_same',
      event_sequence: 1,
      attempt: 1,
      stream_seq: 0,
      altered: [],
      truncated: [],
      late: false,
    });
  });

  it('U-6 F-35: that comes twice is stored and counted once', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const usage = { input_tokens: 3, output_tokens: 4 };
    const events = named([
      log('one'),
      started('s'),
      ended('s'),
      output('so far'),
      { event_type: 'token.created', usage },
      log('x'.repeat(70_000)),
    ]);
    const send = () =>
      scene.app.call('POST', `/api/v1/runs/${runId}/events`, {
        key: worker.token,
        body: { worker_id: worker.id, events },
      });
    expect((await send()).json).toEqual({
      events: 6,
      log_events: 2,
      messages: 0,
      output_updates: 1,
      trace_events: 2,
      duplicate: 0,
      altered: 0,
      refused: [],
    });
    const before = await scene.kept(runId);
    expect((await send()).json).toMatchObject({ events: 6, duplicate: 6 });
    expect(await scene.kept(runId)).toEqual(before);
    expect(before.run).toMatchObject({ output: { text: 'so far' }, usage: { total_tokens: 7 } });
  });

  it('U-6: that comes ten times at once is stored and counted once', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = named([...Array.from({ length: 20 }, (_, index) => log(`line ${index}`)), started('s'), ended('s')]);
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => worker.frame('run_events', { events }, { stream: runId })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 202));
    expect(await scene.events(runId)).toHaveLength(22);
    expect(await scene.spans(runId)).toHaveLength(1);
    const [run] = await scene.app.database.query(`SELECT tool_calls FROM run WHERE id = $1`, [runId]);
    expect(run).toEqual({ tool_calls: 1 });
  });

  it('that is partly known keeps what is new, in its order, and a running total only moves on', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const total = (tokens: number) => ({ event_type: 'token.created', usage: { total_tokens: tokens } });
    const [first, second, third, fourth] = named([total(10), log('two'), total(30), log('four')]);
    await worker.frame('run_events', { events: [first, second] }, { stream: runId });
    await worker.frame('run_events', { events: [third] }, { stream: runId });
    await worker.frame('run_events', { events: [first, second, third, fourth, fourth] }, { stream: runId });
    expect((await scene.events(runId)).map(({ event_sequence }: { event_sequence: number }) => event_sequence)).toEqual(
      [1, 2, 3, 4],
    );
    expect((await scene.run(runId)).usage).toMatchObject({ total_tokens: 30 });
  });

  it('keeps the first of two events that say they are the same', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.frame('run_events', { events: named([log('first')]) }, { stream: runId });
    await worker.frame('run_events', { events: named([log('other')]) }, { stream: runId });
    expect(contents(await scene.events(runId))).toEqual(['first']);
  });

  it('whose events have no name is known by what they say, whatever the order of their members', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = [log('one', { timestamp: 't1' }), log('one', { timestamp: 't2' })];
    await worker.frame('run_events', { events }, { stream: runId });
    await worker.frame(
      'run_events',
      { events: [Object.fromEntries(Object.entries(events[1] ?? {}).reverse())] },
      { stream: runId },
    );
    await worker.frame('run_events', { events: [events[0], log('one', { timestamp: 't3' })] }, { stream: runId });
    expect(await scene.events(runId)).toHaveLength(3);
  });

  it('is answered only when it can be read', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    for (let index = 0; index < 20; index += 1) {
      await worker.send(runId, [log(`line ${index}`)]);
      expect(await scene.events(runId)).toHaveLength(index + 1);
    }
  });

  it('of several connections at once gives every event a number of its own', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await Promise.all(
      Array.from({ length: 40 }, (_, batch) =>
        worker.frame(
          'run_events',
          { events: named([log('a'), started(`s${batch}`), log('c')], `evt_${batch}`) },
          { stream: runId },
        ),
      ),
    );
    const stored = await scene.events(runId);
    expect(stored).toHaveLength(120);
    expect(new Set(stored.map(({ seq }: { seq: number }) => seq)).size).toBe(120);
    const [run] = await scene.app.database.query(`SELECT tool_calls FROM run WHERE id = $1`, [runId]);
    expect(run).toEqual({ tool_calls: 40 });
  });
});

describe('a bad event', () => {
  it('U-9 F-40: is left out and named by its index; the rest stands', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = [
      log('0'),
      null,
      { content: 'no type' },
      log('3'),
      { event_type: 'log.created', content: 7 },
      'text',
      { event_type: 'of.tomorrow', anything: [1] },
      log('7'),
      log('8'),
      log('9'),
    ];
    const answer = await scene.app.call('POST', `/api/v1/runs/${runId}/events`, {
      key: worker.token,
      body: { worker_id: worker.id, events },
    });
    expect(answer.json).toMatchObject({
      events: 6,
      refused: [
        { index: 1, code: 'event.not_object' },
        { index: 2, code: 'event.no_type' },
        { index: 4, code: 'event.wrong_kind' },
        { index: 5, code: 'event.not_object' },
      ],
    });
    expect(
      (await scene.events(runId)).map(
        ({ event_type: type, content }: { event_type: string; content?: string }) => content ?? type,
      ),
    ).toEqual(['0', '3', 'of.tomorrow', '7', '8', '9']);
  });

  it('U-9: in a frame is left out just so', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await worker.frame('run_events', { events: [7, log('good'), {}] }, { stream: runId })).status).toBe(202);
    expect(contents(await scene.events(runId))).toEqual(['good']);
  });

  it('that takes the name of a move of the run is an event and moves nothing', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [
      { event_type: 'run.status', status: 'succeeded', worker_id: 'other' },
      { event_type: 'run.completed' },
    ]);
    expect((await scene.events(runId)).map(({ event_type: type }: { event_type: string }) => type)).toEqual([
      'run.status',
      'run.completed',
    ]);
    expect(await scene.events(runId, '&type=run.status')).toHaveLength(1);
    expect(await scene.run(runId)).toMatchObject({ status: 'running', worker_id: worker.id });
  });
});

describe('the limits of a batch', () => {
  it('F-40: over REST 1,001 events are 413 with the limit, and nothing is stored', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const events = Array.from({ length: 1_001 }, (_, index) => log(`line ${index}`));
    const send = (some: readonly object[]) =>
      scene.app.call('POST', `/api/v1/runs/${runId}/events`, {
        key: worker.token,
        body: { worker_id: worker.id, events: some },
      });
    const refused = await send(events);
    expect(refused).toMatchObject({
      status: 413,
      json: { code: 'event.too_many', detail: expect.stringContaining('1000') },
    });
    expect(await scene.events(runId)).toEqual([]);
    expect((await send(events.slice(1))).json).toMatchObject({ events: 1_000 });
  });

  it('F-40: a frame of 5,000 small events is stored whole', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(
      runId,
      Array.from({ length: 5_000 }, (_, index) => log(`line ${index}`)),
    );
    const [stored] = await scene.app.database.query(
      `SELECT count(*)::int AS count FROM run_log WHERE run_id = $1 AND type = 'log.created'`,
      [runId],
    );
    expect(stored).toEqual({ count: 5_000 });
  });

  it('F-40: a frame of 17 MiB is 413', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await worker.send(runId, [log('x'.repeat(17 * 1024 * 1024))])).status).toBe(413);
    expect(await scene.events(runId)).toEqual([]);
  });

  it('a frame without events, or without a run, is 422', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    expect((await worker.frame('run_events', { events: [] }, { stream: runId })).status).toBe(422);
    expect((await worker.frame('run_events', { events: [log('x')] }, {})).status).toBe(422);
  });
});

describe('what cannot be stored as it was sent', () => {
  it('F-40: is altered and marked: NUL, half a character, a number too long, eighty levels', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const deep = `${'{"in":'.repeat(80)}"bottom"${'}'.repeat(80)}`;
    const events = [
      '{"event_type":"log.created","content":"a\\u0000b"}',
      '{"event_type":"log.created","content":"c\\ud800d"}',
      `{"event_type":"log.created","payload":{"number":1${'0'.repeat(399)},"fine":1}}`,
      `{"event_type":"log.created","payload":{"deep":${deep},"flat":1}}`,
      '{"event_type":"log.created","content":"unharmed"}',
    ].join(',');
    const answer = await scene.app.call('POST', `/api/v1/runs/${runId}/events`, {
      key: worker.token,
      body: `{"worker_id":"${worker.id}","events":[${events}]}`,
    });
    expect(answer.json).toMatchObject({ events: 5, altered: 4, refused: [] });
    expect(await scene.events(runId)).toMatchObject([
      { content: 'a\ufffdb', altered: ['content'] },
      { content: 'c\ufffdd', altered: ['content'] },
      { payload: { number: `1${'0'.repeat(399)}`, fine: 1 }, altered: ['payload.number'] },
      {
        payload: { deep: deep.slice(0, 1_024), flat: 1 },
        altered: ['payload.deep'],
        truncated: [{ path: 'payload.deep' }],
      },
      { content: 'unharmed', altered: [], truncated: [] },
    ]);
    const artifacts = await scene.get(`/api/v1/runs/${runId}/artifacts`);
    expect(artifacts).toHaveLength(1);
    expect((await scene.get(`/api/v1/runs/${runId}/artifacts/${artifacts[0].artifact_id}`)).content).toBe(deep);
  });

  it('F-40: in a frame is marked by its place in the event, not in the frame', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const body = `{"id":"msg_1","type":"run_events","stream":"${runId}","payload":{"events":[{"event_type":"log.created","content":"fine"},{"event_type":"log.created","payload":{"list":[1,"x\\u0000"]}}]}}`;
    const path = `/api/v1/workers/${worker.id}/frames`;
    expect((await scene.app.call('POST', path, { key: worker.token, body })).status).toBe(202);
    expect(await scene.events(runId)).toMatchObject([{ altered: [] }, { altered: ['payload.list[1]'] }]);
  });

  it('F-44: names that are special elsewhere are kept, cost nothing and change nothing', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const payload = '{"x.999999999.y":1,"__proto__":{"z":2},"constructor":{"prototype":{"z":3}},"999999999":4}';
    const before = process.memoryUsage().heapUsed;
    const body = `{"worker_id":"${worker.id}","events":[{"event_type":"custom.created","payload":${payload},"__proto__":{"polluted":true}}]}`;
    await scene.app.call('POST', `/api/v1/runs/${runId}/events`, { key: worker.token, body });
    const { text } = await scene.app.call('GET', `/api/v1/runs/${runId}/events`, { key: scene.key });
    for (const member of [
      '"x.999999999.y":1',
      '"__proto__":{"z":2}',
      '"constructor":{"prototype":{"z":3}}',
      '"999999999":4',
      '"__proto__":{"polluted":true}',
    ])
      expect(text).toContain(member);
    expect({}).not.toHaveProperty('polluted');
    expect({}).not.toHaveProperty('z');
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(100 * 1024 * 1024);
  });
});

describe('what is too large for an event', () => {
  it('F-41: a tool result of 5 MB is an artifact, whole, and its event keeps a preview and a mark', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const blob = '0123456789'.repeat(500_000);
    await worker.send(runId, [started('dump'), ended('dump', { payload: { result: { blob }, rows: 3 } })]);
    const [, event] = await scene.events(runId);
    expect(event.payload).toEqual({ result: `{"blob":"${blob}`.slice(0, 1_024), rows: 3 });
    expect(event.truncated).toEqual([
      { path: 'payload.result', artifact_id: expect.stringMatching(/^art_/), bytes: 5_000_011 },
    ]);
    const [listed] = await scene.get(`/api/v1/runs/${runId}/artifacts`);
    expect(listed).toEqual({
      artifact_id: event.truncated[0].artifact_id,
      run_id: runId,
      name: 'span.ended.payload.result',
      mime_type: 'application/json',
      bytes: 5_000_011,
      is_cut: false,
      created_at: expect.stringMatching(/Z$/),
    });
    const artifact = await scene.get(`/api/v1/runs/${runId}/artifacts/${listed.artifact_id}`);
    expect(artifact).toEqual({ ...listed, content: JSON.stringify({ blob }) });
  });

  it('F-41: an event of 3 MB loses its largest fields until it fits', async () => {
    const worker = await scene.worker();
    const runId = await scene.running(worker);
    const payload = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`field${index}`, 'x'.repeat(50_000)]));
    await worker.send(runId, [{ event_type: 'custom.created', payload }]);
    const { text } = await scene.app.call('GET', `/api/v1/runs/${runId}/events`, { key: scene.key });
    expect(Buffer.byteLength(text)).toBeLessThan(1_060_000);
    const artifacts = await scene.get(`/api/v1/runs/${runId}/artifacts`);
    expect(JSON.parse(text)[0].truncated).toHaveLength(artifacts.length);
  });
});
