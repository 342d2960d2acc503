import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Sweeper } from '../../src/platform/sweep/sweep.ts';
import type { Json } from '../support/app.ts';
import { canonical, newToken, type Answer } from './exchange.ts';
import { Stage } from './stage.ts';
import { Tenant, type Agent } from './tenant.ts';

let stage: Stage;
let second: Stage;
let home: Tenant;
/** The same account on another replica. */
let homeElsewhere: Tenant;
let agent: Agent;

beforeAll(async () => {
  stage = await Stage.open();
  second = await Stage.open({ database: stage.app.database });
  home = stage.home;
  homeElsewhere = new Tenant(second.app.url, home);
  agent = await home.agent();
});
afterAll(async () => {
  await second.app.stop();
  await stage.app.stop();
});

describe('F-25: runs of one identical creation time', () => {
  const COPIES = 10_000;
  const PAGE = 500;
  const COPY_RUNS = `
    INSERT INTO run SELECT copy.* FROM run AS r, generate_series(1, $2::int) AS n,
      LATERAL jsonb_populate_record(r, jsonb_build_object('id', $3 || lpad(n::text, 20, '0'), 'event_id', $3 || n, 'thread_id', $3 || n)) AS copy
     WHERE r.id = $1`;
  let original: string;
  let crowded: Agent;

  beforeAll(async () => {
    crowded = await home.agent();
    original = await home.run(crowded);
    await stage.app.database.query(COPY_RUNS, [original, COPIES - 1, 'run_m']);
  });

  test('are each paged through exactly once, while others come in', async () => {
    const seen: string[] = [];
    const { accountId } = home;
    let cursor: string | undefined;
    let pages = 0;
    do {
      const { status, json, headers } = await home.call(
        'GET',
        `/api/v1/runs?agent_id=${crowded.handle}&limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`,
      );
      expect(status).toBe(200);
      seen.push(...json.map(({ run_id }: Json) => run_id as string));
      cursor = headers.get('x-next-cursor') ?? undefined;
      pages += 1;
      await home.run(crowded); // newer
      await stage.app.database.query(COPY_RUNS, [original, 3, `run_${pages % 2 ? 'a' : 'z'}${newToken()}`]); // of the same time, on both sides
    } while (cursor !== undefined && pages < 100);
    const rows = await stage.app.database.query<{ id: string }>(
      `SELECT id FROM run WHERE account_id = $1 AND (id = $2 OR id LIKE 'run_m%')`,
      [accountId, original],
    );
    expect(rows.length).toBe(COPIES);
    expect(new Set(seen).size).toBe(seen.length);
    const known = new Set(seen);
    expect(rows.filter(({ id }) => !known.has(id))).toEqual([]);
  });

  test('come newest first, and a page is no longer than asked', async () => {
    const listed = await home.ask('GET', `/api/v1/runs?agent_id=${crowded.handle}&limit=200`);
    expect(listed).toHaveLength(200);
    const order = listed.map(({ created_at, run_id }: Json) => `${created_at} ${run_id}`) as string[];
    expect(order).toEqual(order.toSorted().reverse());
  });
});

describe('F-48: what belongs to another run', () => {
  test('is not found under this run’s address, just as what does not exist', async () => {
    const [mine, other] = [await home.recordedRun(await home.agent()), await home.recordedRun(await home.agent())];
    for (const { kind, own, others, none } of [
      { kind: 'artifacts', own: mine.artifactId, others: other.artifactId, none: 'art_none' },
      { kind: 'spans', own: mine.spanId, others: other.spanId, none: 'span_none' },
    ]) {
      const path = `/api/v1/runs/${mine.runId}/${kind}`;
      expect((await home.call('GET', `${path}/${own}`)).status).toBe(200);
      const [wrong, missing] = [await home.call('GET', `${path}/${others}`), await home.call('GET', `${path}/${none}`)];
      expect({ kind, status: wrong.status }).toEqual({ kind, status: 404 });
      expect(wrong.text.replace(wrong.requestId, '')).toBe(missing.text.replace(missing.requestId, ''));
      expect((await home.call('GET', path)).text).not.toContain(others);
    }
    for (const path of [`/api/v1/runs/${mine.runId}`, `/api/v1/runs/${mine.runId}/events`]) {
      const { text } = await home.call('GET', path);
      for (const name of Object.values(other)) expect(text).not.toContain(name);
    }
  });
});

describe('F-50, U-3: one Idempotency-Key', () => {
  const TIMES = 50;

  test('makes one run of 50 parallel requests on two replicas, and answers them all the same', async () => {
    const [key, marker] = [`key-${newToken()}`, newToken()];
    const answers = await manyTimes(() => ({
      path: '/api/v1/runs',
      key,
      json: { agent_id: agent.handle, input: { marker } },
    }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ json }) => canonical(json))).size).toBe(1);
    expect(await runsMarked(marker)).toBe(1);
  });

  test('makes one run of 50 parallel invokes on two replicas', async () => {
    const [key, marker] = [`key-${newToken()}`, newToken()];
    const answers = await manyTimes(() => ({
      path: `/api/v1/agents/${agent.handle}/invoke`,
      key,
      json: { input: { marker } },
    }));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(new Set(answers.map(({ json }) => json.run_id)).size).toBe(1);
    expect(await runsMarked(marker)).toBe(1);
  });

  test('with one event_id, 50 parallel invokes are one run without any header', async () => {
    const marker = newToken();
    const json = { event_id: `evt_${marker}`, input: { marker } };
    const answers = await manyTimes(() => ({ path: `/api/v1/agents/${agent.handle}/invoke`, json }));
    expect(new Set(answers.map(({ status, json: body }) => `${status} ${body.run_id}`)).size).toBe(1);
    expect(await runsMarked(marker)).toBe(1);
    const other = await home.call('POST', `/api/v1/agents/${agent.handle}/invoke`, {
      json: { ...json, input: { marker: 'another' } },
    });
    expect({ status: other.status, code: other.json.code }).toEqual({ status: 409, code: 'idempotency.conflict' });
  });

  test('is refused with another body on either replica, and after its time makes a new run', async () => {
    const key = `key-${newToken()}`;
    const send = (tenant: Tenant, input: object): Promise<Answer> =>
      tenant.call('POST', '/api/v1/runs', {
        headers: { 'idempotency-key': key },
        json: { agent_id: agent.handle, input },
      });
    const first = await send(home, { n: 1 });
    for (const tenant of [home, homeElsewhere]) {
      const other = await send(tenant, { n: 2 });
      expect({ status: other.status, code: other.json.code }).toEqual({ status: 409, code: 'idempotency.conflict' });
      expect((await send(tenant, { n: 1 })).json).toEqual(first.json);
    }
    await stage.app.database.query(
      `UPDATE idempotency_key SET created_at = created_at - interval '24 hours 1 second' WHERE key = $1`,
      [key],
    );
    await stage.app.nest.get(Sweeper).now('operation.forget_answers');
    const later = await send(homeElsewhere, { n: 2 });
    expect(later.status).toBe(200);
    expect(later.json.run_id).not.toBe(first.json.run_id);
  });

  test('is the caller’s own: another principal, another operation and another account may use the same', async () => {
    const key = `key-${newToken()}`;
    const headers = { 'idempotency-key': key };
    const runner = await home.serviceKey(['role_runner']);
    const foreignAgent = await stage.foreign.agent();
    const json = { agent_id: agent.handle, input: {} };
    const answers = [
      await home.call('POST', '/api/v1/runs', { headers, json }),
      await home.call('POST', '/api/v1/runs', { headers, json, key: runner.key }),
      await home.call('POST', `/api/v1/agents/${agent.handle}/invoke`, { headers, json: { input: {} } }),
      await stage.foreign.call('POST', '/api/v1/runs', { headers, json: { ...json, agent_id: foreignAgent.handle } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(new Set(answers.map(({ json: body }) => body.run_id)).size).toBe(answers.length);
  });

  test.each([[''], ['x'.repeat(256)], ['tab\there'], ['caf\u00e9']])(
    'that is no key is 422 at its header: %j',
    async (key) => {
      const { status, json } = await home.call('POST', '/api/v1/runs', {
        headers: { 'idempotency-key': key },
        json: { agent_id: agent.handle },
      });
      expect({ status, part: json.detail?.[0]?.loc?.[0] }).toEqual({ status: 422, part: 'headers' });
    },
  );

  function manyTimes(
    ask: () => { readonly path: string; readonly key?: string; readonly json: unknown },
  ): Promise<Answer[]> {
    const asked = Array.from({ length: TIMES }, (_, index) => ({
      ...ask(),
      tenant: index % 2 === 0 ? home : homeElsewhere,
    }));
    return Promise.all(
      asked.map(({ tenant, path, key, json }) =>
        tenant.call('POST', path, { headers: key ? { 'idempotency-key': key } : {}, json }),
      ),
    );
  }

  async function runsMarked(marker: string): Promise<number> {
    const [row] = await stage.app.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM run WHERE input ->> 'marker' = $1`,
      [marker],
    );
    return row?.count ?? 0;
  }
});
