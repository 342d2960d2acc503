import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { explain, reachOf } from '../../../src/access/decisions/explain.policy.ts';
import { Holdings, type HeldRow } from '../../../src/access/decisions/holdings.policy.ts';
import type { Thing } from '../../../src/access/decisions/scope.policy.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { startApp, type Json, type RunningApp } from '../../support/app.ts';

let app: RunningApp;
let owner: Awaited<ReturnType<RunningApp['account']>>;
let stranger: typeof owner;

beforeAll(async () => {
  app = await startApp();
  [owner, stranger] = [await app.account(), await app.account()];
  for (const [id, handle, labels] of [
    ['ag_mail', 'mail-in', { team: 'red' }],
    ['ag_post', 'post_x%', { team: 'blue', tier: '1' }],
    ['ag_bare', 'mail-out', {}],
  ] as const) {
    await rows('INSERT INTO agent (account_id, id, handle, labels) VALUES ($1, $2, $3, $4::jsonb)', [
      owner.accountId,
      id,
      handle,
      JSON.stringify(labels),
    ]);
  }
});
afterAll(() => app.stop());

async function rows(text: string, values: readonly unknown[]): Promise<Json[]> {
  return app.nest.get(Database).acrossAccounts({ text, values: [...values] });
}

interface Given {
  readonly role?: string;
  readonly capability?: string;
  readonly type?: string;
  readonly id?: string;
  readonly selector?: object;
  readonly expires?: string;
}

/** A key of a new principal that holds just this. */
async function keyWith(...grants: Given[]): Promise<{ key: string; principalId: string }> {
  const { json } = await app.call('POST', '/api/v1/api-keys', { key: owner.key, body: { name: 'narrow' } });
  const [made] = await rows('SELECT principal_id FROM api_key WHERE account_id = $1 AND id = $2', [
    owner.accountId,
    json.id ?? json.key_id,
  ]);
  for (const [place, { role, capability, type = '*', id = '*', selector, expires }] of grants.entries()) {
    await rows(
      `INSERT INTO access_grant (account_id, id, principal_id, kind, role_id, capability, resource_type, resource_id, selector, expires_at, created_by)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::jsonb, now() + $10::interval, 'test')`,
      [
        owner.accountId,
        `grant_${made.principal_id}_${place}`,
        made.principal_id,
        role === undefined ? 'capability' : 'role',
        role ?? null,
        capability ?? null,
        type,
        id,
        selector === undefined ? null : JSON.stringify(selector),
        expires ?? null,
      ],
    );
  }
  return { key: json.key, principalId: made.principal_id };
}

const get = (key: string, path: string) => app.call('GET', `/api/v1/agents/${path}/queue`, { key });
const seen = async (key: string): Promise<number[]> =>
  Promise.all(['ag_mail', 'post_x%25', 'mail-out'].map(async (agent) => (await get(key, agent)).status));

describe('a grant', () => {
  it.each<{ name: string; grants: Given[]; statuses: number[] }>([
    { name: 'of everything', grants: [{ capability: 'agent.read' }], statuses: [200, 200, 200] },
    {
      name: 'of one agent hides the others, by id and by handle',
      grants: [{ capability: 'agent.read', type: 'agent', id: 'ag_post' }],
      statuses: [404, 200, 404],
    },
    {
      name: 'of names',
      grants: [{ capability: 'agent.read', type: 'agent', selector: { name_glob: 'mail*' } }],
      statuses: [200, 404, 200],
    },
    {
      name: 'of labels needs all of them, and a missing one never matches',
      grants: [{ capability: 'agent.read', selector: { team: 'blue', tier: '1' } }],
      statuses: [404, 200, 404],
    },
    {
      name: 'that has expired is none',
      grants: [{ capability: 'agent.read', expires: '-1 second' }],
      statuses: [403, 403, 403],
    },
    {
      name: 'of a role acts inside its scope',
      grants: [{ role: 'role_viewer', type: 'agent', id: 'ag_mail' }],
      statuses: [200, 404, 404],
    },
    { name: 'of something else', grants: [{ capability: 'run.read' }], statuses: [403, 403, 403] },
    { name: 'with a star inside an id', grants: [{ capability: 'agent.read', id: 'ag_*' }], statuses: [404, 404, 404] },
  ])('$name', async ({ grants, statuses }) => {
    expect(await seen((await keyWith(...grants)).key)).toEqual(statuses);
  });

  it('hides what is out of its scope exactly as what is missing or foreign, and refuses by name what may be read', async () => {
    await rows('INSERT INTO agent (account_id, id, handle) VALUES ($1, $2, $3)', [
      stranger.accountId,
      'ag_foreign',
      'foreign',
    ]);
    const { key } = await keyWith(
      { capability: 'agent.read', type: 'agent', id: 'ag_mail' },
      { capability: 'agent.update', type: 'agent', id: 'ag_post' },
    );
    const plain = ({ status, json }: Json) => [status, { ...json, request_id: '' }];
    const missing = plain(await get(key, 'ag_nobody'));
    expect(missing[0]).toBe(404);
    expect(plain(await get(key, 'ag_bare'))).toEqual(missing);
    expect(plain(await get(key, 'ag_foreign'))).toEqual(missing);
    const pause = (agent: string) => app.call('POST', `/api/v1/agents/${agent}/queue/pause`, { key, body: {} });
    expect((await pause('ag_bare')).status).toBe(404);
    expect(await pause('ag_mail')).toMatchObject({ status: 403, json: { code: 'access.denied' } });
    expect((await pause('ag_post')).status).toBe(200);
  });

  it('never opens what is about the whole account when it is of a part', async () => {
    const { key } = await keyWith({ role: 'role_admin', type: 'agent', id: 'ag_mail' });
    for (const path of ['api-keys', 'audit', 'account/settings', 'credentials']) {
      expect((await app.call('GET', `/api/v1/${path}`, { key })).status).toBe(403);
    }
  });

  it('narrows by the statements of a custom role too: both must match', async () => {
    const { accountId } = owner;
    const statements = [
      {
        id: 's1',
        capability: 'agent.read',
        resource_type: 'agent',
        resource_id: '*',
        selector: { team: 'red' },
        expires_at: null,
      },
      {
        id: 's2',
        capability: 'agent.read',
        resource_type: 'agent',
        resource_id: 'ag_bare',
        selector: null,
        expires_at: 'never',
      },
    ];
    await rows('INSERT INTO access_policy (account_id, id, name, statements) VALUES ($1, $2, $2, $3::jsonb)', [
      accountId,
      'pol_red',
      JSON.stringify(statements),
    ]);
    await rows('INSERT INTO access_role (account_id, id, name, policy_ids) VALUES ($1, $2, $2, $3)', [
      accountId,
      'role_red',
      ['pol_red', 'policy_nobody'],
    ]);
    expect(await seen((await keyWith({ role: 'role_red' })).key)).toEqual([200, 404, 404]);
    expect(await seen((await keyWith({ role: 'role_red', type: 'agent', id: 'ag_post' })).key)).toEqual([
      404, 404, 404,
    ]);
  });
});

/** Independent of the engine, and as plain as the contract's words. */
function naive(held: readonly HeldRow[], capability: string, thing: Thing): boolean {
  const like = (glob: string) =>
    new RegExp(
      `^${glob
        .split('*')
        .map((part) => part.replaceAll(/[\\%_]/g, '\\$&'))
        .join('.*')}$`,
      's',
    );
  return held.some((row) => {
    if (row.capability !== capability || (row.left_ms !== null && row.left_ms <= 0)) return false;
    if (row.resource_type === 'account') return Object.keys(row.selector ?? {}).length === 0 && row.resource_id === '*';
    const { name_glob: glob, ...labels } = (row.selector ?? {}) as Record<string, string>;
    return [thing, ...thing.parents].some(
      (node) =>
        ['*', node.kind].includes(row.resource_type) &&
        ['*', node.id].includes(row.resource_id) &&
        (glob === undefined || (node.name !== undefined && like(glob).test(node.name))) &&
        Object.entries(labels).every(([key, value]) => node.labels?.[key] === value),
    );
  });
}

const word = fc.constantFrom('a', 'b', 'ab', 'a%b', 'a_b', 'a\\b');
const glob = fc.array(fc.constantFrom('a', 'b', '*', '%', '_', '\\'), { maxLength: 4 }).map((parts) => parts.join(''));
const labels = fc.dictionary(fc.constantFrom('x', 'y'), fc.constantFrom('1', '2'), { noNullPrototype: true });
const held: fc.Arbitrary<HeldRow> = fc.record({
  grant_id: fc.constantFrom('g1', 'g2'),
  role_id: fc.constant(null),
  role_name: fc.constant(null),
  policy_ids: fc.constant(null),
  capability: fc.constantFrom('run.read', 'agent.read'),
  policy_id: fc.constant(null),
  resource_type: fc.constantFrom('*', 'agent', 'run', 'account'),
  resource_id: fc.oneof(fc.constant('*'), word),
  selector: fc.oneof(
    fc.constant(null),
    labels,
    fc.tuple(labels, glob).map(([some, name_glob]) => ({ ...some, name_glob })),
  ),
  left_ms: fc.constantFrom(null, 1_000, 0, -5),
});
const agent = fc.record({ kind: fc.constant('agent'), id: word, name: word, labels });
const run: fc.Arbitrary<Thing> = fc.record({
  kind: fc.constant('run'),
  id: word,
  parents: fc.tuple(agent),
});

describe('one decision', () => {
  it('is what the contract says, and what lists show by the database’s own predicate', async () => {
    const worlds = fc.sample(fc.tuple(fc.array(held, { maxLength: 4 }), run), { numRuns: 2_000, seed: 5 });
    const asked = worlds.map(([given, thing]) => {
      const holdings = new Holdings(
        'acct',
        'p',
        { kind: 'person', is_disabled: false, mode: 'enforce', held: given, policies: [] },
        0,
      );
      const said = explain(holdings, 'run.read', { kind: 'run', thing }, 0).allowed;
      const { parents, ...own } = thing;
      return { given, thing, said, reach: reachOf(holdings, 'run.read', 'run', 0) ?? null, chain: [own, ...parents] };
    });
    const shown = await rows(
      `SELECT one -> 'reach' = 'null' OR access_reaches(one -> 'reach', one -> 'chain') AS shown
         FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS all_of (one, place) ORDER BY place`,
      [JSON.stringify(asked)],
    );
    for (const [place, { given, thing, said }] of asked.entries()) {
      const expected = naive(given, 'run.read', thing);
      expect({ given, thing, said, shown: shown[place].shown }).toEqual({
        given,
        thing,
        said: expected,
        shown: expected,
      });
    }
    expect(new Set(asked.map(({ said }) => said)).size).toBe(2);
  });
});
