import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Json } from '../../support/app.ts';
import { collect, joinDeltas, type StreamEvent } from '../../support/events.ts';
import { RestClient } from '../../support/rest.ts';
import { startApp } from '../../support/app.ts';
import { pause, type StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, log, output, started } from './scene.ts';

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open();
});
afterAll(() => scene.close());

const read = (runId: string, options: object = {}) => collect(scene.rest.runStream(runId, options));
const ids = (events: readonly StreamEvent[]) => events.map(({ id }) => Number(id));
const shown = (events: readonly StreamEvent[]) =>
  events.map(({ id, event, data }) => [id, event, JSON.stringify(data)]);

/** A run with everything in it that a stream can tell. */
async function wholeRun(): Promise<string> {
  worker = await scene.worker();
  const runId = await scene.running(worker);
  await worker.send(runId, [log('first'), started('s'), output('Hel'), ended('s'), output('Hello')]);
  await worker.send(runId, [
    { event_type: 'output.updated', payload: { progress: 0.5 } },
    output('Hello wor'),
    output('Howdy'),
    log('last'),
  ]);
  await worker.complete(runId, { text: 'Howdy!', n: 1 });
  return runId;
}

describe('the stream of a run', () => {
  it('U-22: of one that has ended is its whole history, and ends with done', async () => {
    const runId = await wholeRun();
    const events = await read(runId);
    expect(events.map(({ event }) => event)).toEqual([
      ...['run.status', 'run.status', 'run.status'],
      ...['run.event', 'run.event', 'message.delta', 'run.event', 'message.delta'],
      ...['output', 'message.delta', 'message.delta', 'run.event'],
      ...['message.delta', 'message.completed', 'output', 'run.status', 'done'],
    ]);
    const statuses = events.filter(({ event }) => event === 'run.status').map(({ data }) => data);
    expect(statuses).toMatchObject([
      { run_id: runId, status: 'queued', attempt: 0, worker_id: null, code: null },
      { status: 'claimed', attempt: 1, worker_id: worker.id },
      { status: 'running', attempt: 1, worker_id: worker.id },
      { status: 'succeeded', attempt: 1, worker_id: worker.id, code: 'end.succeeded', at: expect.stringMatching(/Z$/) },
    ]);
    const numbers = ids(events).slice(0, -1);
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other));
    expect(joinDeltas(events)).toBe('Howdy!');
    expect(events.filter(({ event }) => event === 'message.delta').map(({ data }) => data)).toEqual([
      { delta: 'Hel' },
      { delta: 'lo' },
      { delta: ' wor' },
      { delta: 'Howdy', reset: true },
      { delta: '!' },
    ]);
    expect(events.filter(({ event }) => event === 'output').map(({ data }) => data)).toEqual([
      { output: { progress: 0.5 }, final: false },
      { output: { text: 'Howdy!', n: 1 }, final: true },
    ]);
    expect(events.at(-1)).toMatchObject({
      id: String(numbers.at(-1)),
      data: { run_id: runId, status: 'succeeded', output: { text: 'Howdy!', n: 1 } },
    });
  });

  it('numbers its events as the record does', async () => {
    const runId = await wholeRun();
    const told = (await read(runId)).filter(({ event }) => event === 'run.event').map(({ data }) => data);
    const stored = (await scene.events(runId)).filter(({ event_type: type }: Json) => type !== 'output.updated');
    expect(told).toEqual(stored);
  });

  it('of a failure tells the reason before the end; of a cancelled run only that', async () => {
    const holder = await scene.worker();
    const failed = await scene.running(holder);
    await holder.fail(failed, 'ValueError: no');
    const events = await read(failed);
    expect(events.slice(-3).map(({ event }) => event)).toEqual(['error', 'run.status', 'done']);
    expect(events.at(-3)?.data).toEqual({ code: 'end.failed', detail: 'ValueError: no' });
    const cancelled = await scene.queue(holder);
    await scene.app.call('POST', `/api/v1/runs/${cancelled}/cancel`, { key: scene.key });
    expect((await read(cancelled)).map(({ event }) => event)).toEqual(['run.status', 'run.status', 'done']);
  });

  it('F-36 U-21: cut after each of its events and resumed there is the same sequence', async () => {
    const runId = await wholeRun();
    const whole = await read(runId);
    for (let cut = 0; cut < whole.length; cut += 1) {
      const last = whole[cut]?.id ?? '';
      const rest = await read(runId, { lastEventId: last });
      const expected = cut === whole.length - 1 ? whole.slice(-1) : whole.slice(cut + 1);
      expect(shown(rest)).toEqual(shown(cut === whole.length - 2 ? whole.slice(-1) : expected));
    }
  });

  it('takes the number from the header before that in the query', async () => {
    const runId = await wholeRun();
    const whole = await read(runId);
    const [third, fifth] = [whole[2]?.id ?? '', whole[4]?.id ?? ''];
    expect(ids(await read(runId, { after: Number(fifth) }))).toEqual(ids(whole).slice(5));
    expect(ids(await read(runId, { after: Number(third), lastEventId: fifth }))).toEqual(ids(whole).slice(5));
  });

  it.each([
    ['?after=-1', {}],
    ['?after=x', {}],
    ['?after=1.5', {}],
    ['?after=999999', {}],
    ['?follow=maybe', {}],
    ['', { 'last-event-id': 'x' }],
    ['', { 'last-event-id': '999999' }],
  ])('asked for with %s %j is 422', async (query, headers) => {
    const runId = await wholeRun();
    const { status, json } = await scene.app.call('GET', `/api/v1/runs/${runId}/stream${query}`, {
      key: scene.key,
      headers,
    });
    expect(status).toBe(422);
    expect(json.detail[0].loc[0]).toBe(query === '' ? 'headers' : 'query');
  });

  it('of a run that does not exist, or is another account’s, is 404', async () => {
    const runId = await wholeRun();
    const { key } = await scene.app.account();
    expect((await scene.app.call('GET', '/api/v1/runs/nobody/stream', { key: scene.key })).status).toBe(404);
    expect((await scene.app.call('GET', `/api/v1/runs/${runId}/stream`, { key })).status).toBe(404);
  });

  it('of some events only has these and its end', async () => {
    const runId = await wholeRun();
    const only = (types: string) =>
      collect(scene.rest.stream('GET', `/api/v1/runs/${runId}/stream`, { query: { types } }));
    expect((await only('message.delta')).map(({ event }) => event)).toEqual([
      ...Array.from({ length: 5 }, () => 'message.delta'),
      'done',
    ]);
    expect((await only('log.created,run.status')).map(({ event }) => event)).toEqual([
      'run.status',
      'run.status',
      'run.status',
      'run.event',
      'run.event',
      'run.status',
      'done',
    ]);
  });

  it('that does not follow ends where the record ends', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    await holder.send(runId, [log('so far')]);
    expect((await read(runId, { follow: false })).map(({ event }) => event)).toEqual([
      'run.status',
      'run.status',
      'run.status',
      'run.event',
    ]);
  });

  it('escapes what some readers take for the end of a line', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    await holder.send(runId, [log('a\u2028b\u2029c\u0085d'), output('e\u2028f')]);
    await holder.complete(runId, { text: 'e\u2028f' });
    const { text } = await scene.app.call('GET', `/api/v1/runs/${runId}/stream`, { key: scene.key });
    expect(text).not.toMatch(/[\u2028\u2029\u0085]/);
    expect(joinDeltas(await read(runId))).toBe('e\u2028f');
  });

  it('tells a text that became an artifact whole, also to who resumes in the middle of it', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const texts = [1, 2, 3].map((times) => 'long text '.repeat(20_000 * times));
    for (const text of texts) await holder.send(runId, [output(text)]);
    await holder.complete(runId, { text: texts[2] ?? '' });
    const whole = await read(runId);
    expect(joinDeltas(whole)).toBe(texts[2]);
    const deltas = whole.filter(({ event }) => event === 'message.delta');
    expect(deltas.map(({ data }) => String(data['delta']).length)).toEqual([200_000, 200_000, 200_000]);
    const rest = await read(runId, { lastEventId: deltas[1]?.id });
    expect(shown(rest)).toEqual(shown(whole.slice(whole.indexOf(deltas[1] as StreamEvent) + 1)));
  });
});

describe('a live reader', () => {
  it('K-18: sees each event within a second, and the end when it comes', async () => {
    const holder = await scene.worker();
    const runId = await scene.queue(holder);
    const reading = read(runId);
    await pause(100);
    await holder.claimSoon();
    await holder.start(runId);
    const sentAt: number[] = [];
    for (let number = 0; number < 10; number += 1) {
      sentAt.push(performance.now());
      await holder.send(runId, [log(`line ${number}`)]);
      await pause(50);
    }
    await holder.complete(runId, { text: 'end' });
    const events = await reading;
    const lines = events.filter(({ event }) => event === 'run.event');
    expect(lines.map(({ data }) => data['content'])).toEqual(
      Array.from({ length: 10 }, (_, number) => `line ${number}`),
    );
    for (const [number, { at }] of lines.entries()) expect(at - (sentAt[number] ?? 0)).toBeLessThan(1_000);
    expect(events.at(-1)?.event).toBe('done');
  });

  it('U-22: that comes at any moment of a burst misses nothing at the seam', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const readers: Promise<StreamEvent[]>[] = [];
    for (let batch = 0; batch < 50; batch += 1) {
      readers.push(read(runId));
      await Promise.all([
        holder.send(runId, [log(`a${batch}`), output(`text ${batch}`), log(`b${batch}`)]),
        pause(Math.random() * 5),
      ]);
    }
    await holder.complete(runId, { text: 'end' });
    const whole = shown(await read(runId));
    for (const reader of readers) expect(shown(await reader)).toEqual(whole);
  });

  it('F-37: gets everything, beside another one', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const readers = [read(runId), read(runId)];
    for (let batch = 0; batch < 20; batch += 1)
      await holder.send(runId, [log(`line ${batch}`), output(`text ${batch}`)]);
    await holder.complete(runId, { text: 'end' });
    const whole = shown(await read(runId));
    for (const reader of readers) expect(shown(await reader)).toEqual(whole);
  });

  it('F-36: that is cut at random a hundred times puts together what is stored', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const speaking = (async () => {
      for (let batch = 0; batch < 60; batch += 1)
        await holder.send(runId, [log(`line ${batch}`), output(`text ${'x'.repeat(batch)}`), started(`s${batch}`)]);
      await holder.complete(runId, { text: 'the end' });
    })();
    const pieces: StreamEvent[] = [];
    let cuts = 0;
    while (pieces.at(-1)?.event !== 'done') {
      let left = cuts < 100 ? 1 + Math.floor(Math.random() * 4) : Number.POSITIVE_INFINITY;
      const last = pieces.at(-1)?.id;
      pieces.push(
        ...(await collect(
          scene.rest.runStream(runId, last === undefined ? {} : { lastEventId: last }),
          () => (left -= 1) === 0,
        )),
      );
      cuts += 1;
    }
    await speaking;
    expect(shown(pieces)).toEqual(shown(await read(runId)));
  }, 60_000);

  it('sees what another replica takes', async () => {
    const other = await startApp({ database: scene.app.database });
    try {
      const holder = await scene.worker();
      const runId = await scene.running(holder);
      const elsewhere = collect(new RestClient(other.url, scene.key).runStream(runId));
      await pause(1_500); // by then the replicas know of each other
      await holder.send(runId, [log('over there')]);
      await holder.complete(runId, { text: 'end' });
      expect(shown(await elsewhere)).toEqual(shown(await read(runId)));
    } finally {
      await other.stop();
    }
  });

  it('sees what came without a poke, a second later', async () => {
    const holder = await scene.worker();
    const runId = await scene.running(holder);
    const reading = read(runId);
    await pause(200);
    await scene.app.database.query(
      `WITH grown AS (UPDATE run SET last_seq = last_seq + 1 WHERE id = $1 RETURNING *)
       INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, identity, event)
       SELECT account_id, id, day, last_seq, attempt, 'log.created', 'silent', '{"event_type":"log.created","content":"silent"}' FROM grown`,
      [runId],
    );
    const silentAt = performance.now();
    await pause(2_000);
    await holder.complete(runId, {});
    const silent = (await reading).find(({ data }) => data['content'] === 'silent');
    expect((silent?.at ?? Number.POSITIVE_INFINITY) - silentAt).toBeLessThan(1_900);
  });
});
