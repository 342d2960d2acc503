import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { listEntries } from '../../../src/audit/queries/queries.store.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

const KEYS = '/api/v1/api-keys';
const AUDIT = '/api/v1/audit';

let app: RunningApp;
let owner: { readonly accountId: string; readonly ownerId: string; readonly key: string };
const keys: Json[] = [];

beforeAll(async () => {
  app = await startApp();
  owner = await app.account();
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    keys.push((await app.call('POST', KEYS, { key: owner.key, body: { name, role_ids: ['role_viewer'] } })).json);
  }
  await app.call('DELETE', `${KEYS}/${keys[0].id}`, { key: owner.key });
  await app.call('DELETE', `${KEYS}/${keys[1].id}`, { key: keys[2].key });
  await app.call('POST', '/api/v1/agents/worker-token', { key: owner.key, body: { agentId: 'probe' } });
});
afterAll(() => app.stop());

async function list(query: string): Promise<Json> {
  const { status, json } = await app.call('GET', `${AUDIT}?${query}`, { key: owner.key });
  expect({ status, json }).toMatchObject({ status: 200 });
  return json;
}

const actions = (rows: Json): string[] => (rows as { action: string }[]).map(({ action }) => action);
/** What the looks of this file themselves leave is in the way. */
const NO_LOOKS = 'q=key.';

describe('reading the trail', () => {
  it('shows the newest first, and oldest first if asked', async () => {
    const rows = await list(`${NO_LOOKS}&limit=200`);
    expect(actions(rows)).toEqual([
      'api_key.revoke',
      'api_key.revoke',
      ...Array.from({ length: 6 }, () => 'api_key.create'),
    ]);
    expect(await list(`${NO_LOOKS}&order=asc`)).toEqual([...rows].reverse());
  });

  it.each([
    ['category=agents', ['worker_token.rotate']],
    ['category=authorization', []],
    ['category=nothing', []],
    ['status=failure', ['api_key.revoke']],
    ['q=ROTATE', ['worker_token.rotate']],
    ['q=100%25', []],
    ['q=_', ['worker_token.rotate']],
    [`${NO_LOOKS}&to=2001-01-01T00:00:00Z`, []],
    [`${NO_LOOKS}&from=2999-01-01T00:00:00%2B01:00`, []],
  ])('%s finds what it says, and nothing else', async (query, expected) => {
    const rows = (await list(query)) as { action: string; category: string }[];
    const found = query === 'q=_' ? rows.filter(({ category }) => category === 'agents') : rows;
    expect(actions(found)).toEqual(expected);
  });

  it('finds by actor, target and request', async () => {
    expect(await list(`actor_principal_id=${keys[2].principal_id}`)).toMatchObject([{ action: 'api_key.revoke' }]);
    const rows = await list(`target=${keys[0].id}`);
    expect(actions(rows)).toEqual(['api_key.revoke', 'api_key.create']);
    expect(await list(`request_id=${rows[0].detail.request_id}`)).toEqual([rows[0]]);
    expect(await list(`q=${keys[2].principal_id}`)).toMatchObject([{ actor_principal_id: keys[2].principal_id }]);
  });

  it.each([
    ['action', 'action'],
    ['actor', 'actor_principal_id'],
    ['type', 'actor_type'],
    ['status', 'status'],
  ])('sorts by %s, both ways', async (sort, field) => {
    const values = (rows: Json): string[] => (rows as Record<string, string | null>[]).map((row) => row[field] ?? '~');
    const up = values(await list(`sort=${sort}&order=asc&${NO_LOOKS}`));
    const comparable = sort === 'status' ? [...up].sort() : [...up].sort((a, b) => (a < b ? -1 : 1));
    expect(up).toEqual(comparable);
    expect(new Set(up).size).toBeGreaterThan(1);
    const down = values(await list(`sort=${sort}&order=desc&${NO_LOOKS}`)).filter((value) => value !== '~');
    expect(down).toEqual([...down].sort((a, b) => (a > b ? -1 : 1)));
  });

  it.each(['asc', 'desc'])('pages through by cursor without a gap or a repeat, %s', async (order) => {
    const whole = await list(`${NO_LOOKS}&order=${order}`);
    const pages: Json[] = [];
    let cursor = '';
    for (let page = 0; page < 10; page += 1) {
      const answer = await app.call('GET', `${AUDIT}?${NO_LOOKS}&order=${order}&limit=3${cursor}`, { key: owner.key });
      pages.push(...answer.json);
      const next = answer.headers.get('x-next-cursor');
      if (next === null) break;
      cursor = `&cursor=${next}`;
    }
    expect(pages).toEqual(whole);
  });

  it('pages through by offset too', async () => {
    const whole = await list(NO_LOOKS);
    expect(await list(`${NO_LOOKS}&limit=2&offset=3`)).toEqual(whole.slice(3, 5));
  });

  it.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=1.5', 'limit'],
    ['limit=many', 'limit'],
    ['offset=10001', 'offset'],
    ['offset=-1', 'offset'],
    ['status=done', 'status'],
    ['sort=id', 'sort'],
    ['order=up', 'order'],
    [`q=${'x'.repeat(201)}`, 'q'],
    ['q=%00', 'q'],
    ['from=yesterday', 'from'],
    ['count=1', 'count'],
    ['cursor=nonsense', 'cursor'],
    ['cursor=MTIzIGF1ZF8x&sort=action', 'cursor'],
  ])('refuses %s with 422 and its place', async (query, field) => {
    const answer = await app.call('GET', `${AUDIT}?${query}`, { key: owner.key });
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc: ['query', field] }] } });
  });

  it('counts only when asked, with the same filters', async () => {
    const counted = async (query: string): Promise<string | null> =>
      (await app.call('GET', `${AUDIT}?${query}`, { key: owner.key })).headers.get('x-total-count');
    expect(await counted(`${NO_LOOKS}&limit=1&count=true`)).toBe('8');
    expect(await counted(`${NO_LOOKS}&status=failure&count=true`)).toBe('1');
    expect([await counted(NO_LOOKS), await counted(`${NO_LOOKS}&count=false`)]).toEqual([null, null]);
  });

  it('K-74: the look itself is on record, with what was looked for', async () => {
    await list(`target=${keys[3].id}`);
    const [look] = await list('q=audit.read&limit=1');
    expect(look).toMatchObject({
      action: 'audit.read',
      category: 'audit',
      actor_principal_id: owner.ownerId,
      detail: { target: { kind: 'audit', id: '' }, rows: 1 },
    });
  });

  it('K-64: another account sees none of it', async () => {
    const other = await app.account();
    const { json } = await app.call('GET', `${AUDIT}?limit=200`, { key: other.key });
    expect(actions(json).toSorted()).toEqual(['account.create', 'api_key.create']); // of one moment
    const probe = await app.call('GET', `${AUDIT}?target=${keys[0].id}`, { key: other.key });
    expect(probe.json).toEqual([]);
  });
});

describe('U-61: a register of 200,000 rows', () => {
  const ROWS = 200_000;
  /** The whole of an account is walked through where no index helps; a busy machine has its share of it. */
  const LIMIT_MS = 2_500;
  let large: { readonly accountId: string; readonly key: string };

  beforeAll(async () => {
    large = await app.account();
    await app.database.query(
      `INSERT INTO audit_entry (account_id, id, at, category, action, operation, outcome, actor_kind, actor_id, target_kind,
         target_id, request_id, detail)
       SELECT $1, 'aud_large_' || n, now() - n * interval '1 second', (ARRAY['agents', 'runs', 'identity'])[1 + n % 3],
         'thing.act_' || n % 20, 'agents.act', (ARRAY['done', 'refused'])[1 + (n % 50 = 0)::int], 'person', 'prn_' || n % 100,
         'thing', 'thing_' || n, 'req_' || n, jsonb_build_object('note', repeat('x', 200))
         FROM generate_series(1, $2::int) AS n`,
      [large.accountId, ROWS],
    );
    await app.database.query('ANALYZE audit_entry');
  }, 60_000);

  it.each([
    ['limit=1&offset=10000', 'aud_large_9999'],
    ['limit=1&offset=10000&sort=action', undefined],
    ['limit=1&offset=10000&sort=actor&order=asc', undefined],
    ['limit=1&offset=10000&sort=type', undefined],
    ['limit=1&offset=3000&sort=status&order=asc&status=failure', 'aud_large_150050'],
    ['limit=1&offset=1000&actor_principal_id=prn_7', 'aud_large_100007'],
    ['limit=1&category=authorization', 'none'],
    ['limit=1&target=thing_199999', 'aud_large_199999'],
    ['limit=1&request_id=req_123456', 'aud_large_123456'],
    ['limit=1&q=no%20such%25thing', 'none'],
  ])('%s is answered without a long walk', async (query, id) => {
    const began = performance.now();
    const { status, json } = await app.call('GET', `${AUDIT}?${query}`, { key: large.key });
    expect({ status, took: performance.now() - began < LIMIT_MS }).toEqual({ status: 200, took: true });
    if (id !== undefined) expect(json[0]?.id ?? 'none').toBe(id);
    const count = await app.call('GET', `${AUDIT}?${query}&count=true`, { key: large.key });
    expect(count.headers.get('x-total-count')).toMatch(/^(\d{1,4}|10000\+)$/);
  });

  it.each([
    ['actor_principal_id=prn_7', 'actor_id_at_id'],
    ['category=agents', 'at_id'],
    ['target=thing_5', 'target_id'],
    ['request_id=req_5', 'request_id'],
    ['', 'account_id_at_id'],
  ])('an index serves %s', async (query, index) => {
    const filter = Object.fromEntries(new URLSearchParams(query));
    const asked = {
      category: filter['category'],
      isDone: undefined,
      actorId: filter['actor_principal_id'],
      targetId: filter['target'],
      requestId: filter['request_id'],
    };
    const page = { sort: 'when', order: 'desc', limit: 100, offset: 500, after: undefined } as const;
    const plan = await app.nest.get(Database).asAccount(large.accountId, (transaction) => {
      const sql = <Row extends object>(text: string, values: readonly unknown[] = []) =>
        transaction.query<Row>({ text: `EXPLAIN (FORMAT JSON) ${text}`, values });
      return listEntries({ sql, actor: { accountId: large.accountId } } as never, asked, page);
    });
    const text = JSON.stringify(plan);
    expect(text).not.toContain('Seq Scan');
    expect(text).toContain(index);
  });
});
