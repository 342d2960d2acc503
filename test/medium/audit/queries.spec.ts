import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
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
    ['cursor=nonsense', 'cursor'],
    ['cursor=MTIzIGF1ZF8x&sort=action', 'cursor'],
  ])('refuses %s with 422 and its place', async (query, field) => {
    const answer = await app.call('GET', `${AUDIT}?${query}`, { key: owner.key });
    expect(answer).toMatchObject({ status: 422, json: { detail: [{ loc: ['query', field] }] } });
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
