import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { SearchSweep } from '../../../src/evidence/search/search.sweep.ts';
import type { Json } from '../../support/app.ts';
import type { StubWorker } from '../../support/stub-worker.ts';
import { Scene, ended, log, started } from './scene.ts';

let scene: Scene;
let worker: StubWorker;
beforeAll(async () => {
  scene = await Scene.open();
  worker = await scene.worker();
});
afterAll(() => scene.close());

const ask = (query: string, key = scene.key) => scene.app.call('GET', `/api/v1/evidence/search?${query}`, { key });
async function search(q: string, more = ''): Promise<Json[]> {
  const { status, json, text } = await ask(`q=${encodeURIComponent(q)}${more}`);
  if (status !== 200) throw new Error(`${status}: ${text}`);
  return json;
}
const runsOf = (hits: readonly Json[]): string[] => [...new Set(hits.map((hit) => hit.run_id))];
const indexed = () => scene.app.nest.get(SearchSweep).run();

/** A run in which these things are said, ended. */
async function ran(events: readonly object[], output: object = {}, of: StubWorker = worker): Promise<string> {
  const runId = await scene.running(of);
  if (events.length > 0) await of.send(runId, events);
  await of.complete(runId, output);
  return runId;
}

describe('D-48: a word that was said', () => {
  it('in two of five runs finds these two, before they are in the index and after', async () => {
    const with_: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const runId = await ran([log(index % 3 === 0 ? 'the Quetzal flew' : 'nothing of the kind')]);
      if (index % 3 === 0) with_.unshift(runId);
    }
    expect(runsOf(await search('quetzal'))).toEqual(with_);
    await indexed();
    expect(await scene.app.database.query('SELECT * FROM search_pending')).toEqual([]);
    const hits = await search('quetzal');
    expect(runsOf(hits)).toEqual(with_);
    expect(hits[0]).toEqual({
      run_id: with_[0],
      agent_id: expect.any(String),
      seq: expect.any(Number),
      kind: 'log.created',
      at: expect.any(String),
      span_id: null,
      excerpt: 'the \uE000Quetzal\uE001 flew',
    });
    expect(runsOf(await search('"the quetzal" -nothing'))).toEqual(with_);
    expect(await search('"quetzal the"')).toEqual([]);
  });

  it('is found while the run goes on', async () => {
    worker = await scene.worker();
    const runId = await scene.running(worker);
    await worker.send(runId, [log('an axolotl, live')]);
    expect(runsOf(await search('axolotl'))).toEqual([runId]);
    await worker.complete(runId, {});
    expect(runsOf(await search('axolotl'))).toEqual([runId]);
  });

  it.each([
    [
      'in a message',
      'message.created',
      [{ event_type: 'message.created', role: 'assistant', content: 'xylophone' }],
      {},
    ],
    [
      'deep in the arguments of a tool',
      'span.started',
      [started('s1', { payload: { args: { list: [{ q: 'the\nxylophone\\n' }] } } }), ended('s1')],
      {},
    ],
    ['in an output', 'output', [], { answer: ['xylophone'] }],
  ])('%s', async (_, kind, events, output) => {
    worker = await scene.worker();
    const runId = await ran(events, output);
    for (const look of ['before', 'after']) {
      const hits = (await search('XYLOPHONE', `&agent_id=${worker.handle}`)).filter((hit) => hit.run_id === runId);
      expect({ look, kinds: hits.map((hit) => hit.kind) }).toEqual({ look, kinds: [kind] });
      expect(hits[0].excerpt).toContain('\uE000xylophone\uE001');
      await indexed();
    }
    expect(await search('xylophone', `&kind=${kind}&agent_id=${worker.handle}`)).toHaveLength(1);
    expect(await search('xylophone', `&kind=other&agent_id=${worker.handle}`)).toEqual([]);
    expect(await search('xylophone', '&agent_id=nobody')).toEqual([]);
  });

  it('in an input or an error is found there', async () => {
    worker = await scene.worker();
    const runId = await scene.queue(worker, { prompt: 'ocelot in' });
    await worker.claimSoon();
    await worker.start(runId);
    await worker.fail(runId, 'ocelot out');
    await indexed();
    expect((await search('ocelot')).map((hit) => hit.kind)).toEqual(['error', 'input']);
  });

  it('by another account is found by nobody else', async () => {
    await ran([log('pangolin')]);
    await indexed();
    const stranger = await scene.app.account();
    expect((await ask('q=pangolin', stranger.key)).json).toEqual([]);
    expect(await search(`@${stranger.accountId} pangolin`)).toEqual([]);
  });

  it('with marks of ours in its text is shown without them', async () => {
    await ran([log('\uE000false\uE001 numbat')]);
    await indexed();
    expect((await search('numbat'))[0].excerpt).toBe('false \uE000numbat\uE001');
  });
});

describe('a search', () => {
  it('is paged, the newest first, without a gap or a repeat, though some of it is not in the index yet', async () => {
    worker = await scene.worker();
    await ran(Array.from({ length: 7 }, (_, index) => log(`capybara ${index}`)));
    await indexed();
    await ran(Array.from({ length: 4 }, (_, index) => log(`capybara ${7 + index}`)));
    const seen: string[] = [];
    for (let cursor = ''; ;) {
      const { json, headers } = await ask(`q=capybara&limit=3${cursor && `&cursor=${cursor}`}`);
      seen.push(...json.map((hit: Json) => hit.excerpt.replaceAll(/[^\d]/g, '')));
      cursor = headers.get('x-next-cursor') ?? '';
      if (cursor === '') break;
    }
    expect(seen.map(Number)).toEqual([10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  });

  it('keeps to its range', async () => {
    await ran([log('wombat')]);
    const before = new Date(Date.now() - 3_600_000).toISOString();
    expect(await search('wombat', `&from=${before}`)).toHaveLength(1);
    expect(await search('wombat', `&to=${before}`)).toEqual([]);
  });

  it('is on record, and what was looked for is not', async () => {
    await search('tamandua');
    const rows = await scene.app.database.query<Json>(
      `SELECT outcome, detail FROM audit_entry WHERE action = 'evidence.search' ORDER BY at DESC LIMIT 1`,
    );
    expect(rows).toMatchObject([{ outcome: 'done', detail: { hits: 0 } }]);
    expect(JSON.stringify(rows)).not.toContain('tamandua');
  });

  it.each([
    ['', 'q'],
    ['q=x', 'q'],
    [`q=${'x'.repeat(201)}`, 'q'],
    ['q=--', 'q'],
    ['q=%22%22', 'q'],
    ['q=-word', 'q'],
    ['q=word&limit=201', 'limit'],
    ['q=word&cursor=bogus', 'cursor'],
    ['q=word&from=yesterday', 'from'],
    ['q=word&from=2000-01-01T00:00:00Z', 'from'],
    ['q=wo%00rd', 'q'],
  ])('is refused where it makes no sense: %s', async (query, name) => {
    const { status, json } = await ask(query);
    expect({ status, loc: json.detail?.[0]?.loc }).toEqual({ status: 422, loc: ['query', name] });
  });

  it('D-46: says so where the account keeps no content', async () => {
    const { key } = await scene.app.account();
    await scene.app.call('PATCH', '/api/v1/account/settings', { key, body: { content: 'metadata' } });
    expect(await ask('q=word', key)).toMatchObject({ status: 409, json: { code: 'content.withheld' } });
  });
});

describe('the index', () => {
  it('is made piece by piece of a run of thousands of events, and each is found once', async () => {
    worker = await scene.worker();
    const runId = await scene.running(worker);
    for (let batch = 0; batch < 5; batch += 1)
      await worker.send(
        runId,
        Array.from({ length: 500 }, (_, index) => log(index === 7 ? `echidna ${batch}` : `filler ${index}`)),
      );
    await worker.complete(runId, {});
    await indexed();
    const hits = await search('echidna', '&limit=200');
    expect(hits).toHaveLength(5);
    const [row] = await scene.app.database.query<{ count: number }>(
      'SELECT count(*)::int AS count FROM evidence_text WHERE run_id = $1',
      [runId],
    );
    expect(row?.count).toBeGreaterThan(2_500);
  });

  it('goes on behind a run that cannot be read', async () => {
    worker = await scene.worker();
    const broken = await ran([log('dugong')]);
    await scene.app.database.query(
      `UPDATE search_pending SET day = '1999-01-01', added_at = '1999-01-01' WHERE run_id = $1`,
      [broken],
    );
    await scene.app.database.query(`UPDATE run SET day = '1999-01-01' WHERE id = $1`, [broken]); // of which there is no partition
    const after = await ran([log('dugong')]);
    await indexed();
    expect(runsOf(await search('dugong'))).toEqual([after]);
    expect(await scene.app.database.query('SELECT * FROM search_pending')).toEqual([]);
  });
});
