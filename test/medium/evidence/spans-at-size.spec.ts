import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readEvents, type Reading, type RunPlace } from '../../../src/evidence/events/log.store.ts';
import { findSpan, spanRows } from '../../../src/evidence/spans/spans.store.ts';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, log, started } from './scene.ts';

const SPANS = 50_000;
const DEPTH = 5_000;
const SPANS_A_BATCH = 2_500;

let scene: Scene;
let worker: StubWorker;
let runId: string;

/** A chain of five thousand, and the rest beside each other below its end; children come before their parents. */
const idOf = (place: number): string => `s${place}`;
const parentOf = (place: number): string | null => (place === 0 ? null : idOf(Math.min(place - 1, DEPTH - 1)));

beforeAll(async () => {
  scene = await Scene.open();
  worker = await scene.worker();
  runId = await scene.running(worker);
  for (let from = SPANS; from > 0; from -= SPANS_A_BATCH) {
    const places = Array.from({ length: SPANS_A_BATCH }, (_, index) => from - 1 - index);
    const edges = places.flatMap((place) => [
      started(idOf(place), { parent_span_id: parentOf(place), kind: place < DEPTH ? 'chain' : 'tool' }),
      ended(idOf(place), { kind: place < DEPTH ? 'chain' : 'tool' }),
    ]);
    expect((await worker.send(runId, edges)).status).toBe(202);
  }
}, 120_000);
afterAll(() => scene.close());

async function pages(query: string): Promise<{ readonly spans: Json[]; readonly pages: number }> {
  const spans: Json[] = [];
  for (let cursor = '', count = 1; ; count += 1) {
    const path = `/api/v1/runs/${runId}/spans?${query}${cursor}`;
    const { json, headers } = await scene.app.call('GET', path, { key: scene.key });
    spans.push(...json);
    const next = headers.get('x-next-cursor');
    if (next === null) return { spans, pages: count };
    cursor = `&cursor=${next}`;
  }
}

/** What the database would do for a statement of the product, once it knows how large its tables are. */
async function planOf(ask: (reading: Reading) => Promise<unknown>): Promise<string> {
  let plan: Json;
  const sql = async (text: string, values: readonly unknown[] = []): Promise<never[]> => {
    plan = await scene.app.database.query(`EXPLAIN (FORMAT JSON) ${text}`, [...values]);
    return [];
  };
  await ask({ sql });
  return JSON.stringify(plan);
}

describe('a run of fifty thousand spans', () => {
  it('is read in pages, each span once, in the order in which they came, none an orphan at the end', async () => {
    const read = await pages('limit=5000');
    expect(read.pages).toBeLessThanOrEqual(SPANS / 5_000 + 1);
    expect(read.spans.map(({ span_id: id }) => id)).toEqual(
      Array.from({ length: SPANS }, (_, index) => idOf(SPANS - 1 - index)),
    );
    expect(read.spans.filter(({ orphan, status }) => orphan || status !== 'ok')).toEqual([]);
    expect(read.spans.every(({ seq, changed_seq: changed }) => changed === seq + 1)).toBe(true);
  }, 60_000);

  it('comes packed to whoever takes it so', async () => {
    const { headers } = await scene.app.call('GET', `/api/v1/runs/${runId}/spans?limit=5000`, {
      key: scene.key,
      headers: { 'accept-encoding': 'gzip' },
    });
    expect(headers.get('content-encoding')).toBe('gzip');
  });

  it('tells what changed last without what did not, and goes on where it stopped', async () => {
    const { last_seq: last } = (
      await scene.app.database.query<Json>(`SELECT last_seq::float8 AS last_seq FROM run WHERE id = $1`, [runId])
    )[0];
    await worker.send(runId, [log('between'), started('late'), ended('late', { status: 'error' })]);
    expect((await pages(`changed_after=${last}`)).spans).toMatchObject([{ span_id: 'late', status: 'error' }]);
    const changed = await pages(`changed_after=${last - 2_000}&limit=300`);
    expect(changed.spans.map(({ span_id: id }) => id)).toEqual([
      ...Array.from({ length: 1_000 }, (_, index) => idOf(999 - index)),
      'late',
    ]);
  });

  it('opens any span at once, the deepest too', async () => {
    const {
      span_id: id,
      parent_span_id: parent,
      events,
    } = await scene.get(`/api/v1/runs/${runId}/spans/${idOf(DEPTH)}`);
    expect([id, parent, events.length]).toEqual([idOf(DEPTH), idOf(DEPTH - 1), 2]);
  });

  it('is accounted for', async () => {
    expect(await scene.get(`/api/v1/runs/${runId}/completeness`)).toMatchObject({
      ...{ refused: 0, duplicate: 0, orphan_spans: 0, open_spans: 0, lost_batches: 0, altered: 0, truncated: 0 },
    });
  });

  it.each([
    ['while the tables are young', true],
    ['once the database knows them', false],
  ])('is read through indexes in their order, however far into it, %s', async (_, isYoung) => {
    if (!isYoung) await scene.app.database.query('ANALYZE run_span, run_log');
    const [place] = await scene.app.database.query<RunPlace>(
      `SELECT account_id AS "accountId", id AS "runId", day::text AS day FROM run WHERE id = $1`,
      [runId],
    );
    if (!place) throw new Error('the run is gone');
    const wish = { after: 60_000, kind: null, status: null, limit: 1_000 };
    const byFirst = await planOf((reading) => spanRows(reading, place, { ...wish, order: 'first_seq' }));
    const byChange = await planOf((reading) => spanRows(reading, place, { ...wish, order: 'changed_seq' }));
    const one = await planOf((reading) => findSpan(reading, place, 's1'));
    const events = await planOf((reading) =>
      readEvents(reading, place, { after: 60_000, limit: 1_000 }, { spanId: 's1' }),
    );
    for (const plan of [byFirst, byChange, one, events]) expect(plan).not.toMatch(/"Node Type":"(Seq Scan|Hash Join)"/);
    for (const plan of [byChange, one]) expect(plan).not.toMatch(/_first_seq_idx|"Node Type":"Sort"/);
    if (!isYoung) expect(byFirst).not.toMatch(/"Node Type":"Sort"/);
  });
});

it('a page of events that finds nothing names where to look on', async () => {
  const first = await scene.app.call('GET', `/api/v1/runs/${runId}/events?span_id=s0`, { key: scene.key });
  expect(first.json).toEqual([]);
  expect(first.headers.get('x-next-cursor')).toBe('20000');
  const found: Json[] = [];
  for (let cursor: string | null = '0'; cursor !== null;) {
    const path: string = `/api/v1/runs/${runId}/events?span_id=s0&cursor=${cursor}`;
    const page = await scene.app.call('GET', path, { key: scene.key });
    found.push(...page.json);
    cursor = page.headers.get('x-next-cursor');
  }
  expect(found.map(({ event_type: type }) => type)).toEqual(['span.started', 'span.ended']);
});
