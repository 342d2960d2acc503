import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Bus } from '../../../src/platform/bus/bus.ts';
import { Clock } from '../../../src/platform/clock/clock.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { fault } from '../../../src/platform/faults/faults.ts';
import { Handles } from '../../../src/platform/operation/handles.ts';
import { later } from '../../../src/platform/operation/later.ts';
import { operation, unaudited, type In, type OpContext } from '../../../src/platform/operation/operation.ts';
import { Outbox } from '../../../src/platform/outbox/outbox.ts';
import { AuditTrail, Decider, Identifier } from '../../../src/platform/operation/ports.ts';
import { OperationRunner } from '../../../src/platform/operation/runner.ts';
import { startApp, type RunningApp } from '../../support/app.ts';

const Input = z.object({ id: z.string(), more: z.unknown().optional() });
const Taken = fault('things.taken', 'conflict', 'There is one of that name');
const Undeclared = fault('things.undeclared', 'conflict', 'Nobody declared this');
const steps: string[] = [];
const Answer = z.object({ said: z.string() }).transform((answer) => {
  steps.push('project');
  return answer;
});
const target = ({ id }: { id: string }) => ['thing', id] as const;

const act = operation({
  id: 'runs.test_act',
  summary: 'Does what the test says.',
  http: { method: 'POST', path: '/test/act', status: 200 },
  capability: 'run.cancel',
  audit: { action: 'test.act', target },
  idempotent: true,
  input: { body: Input },
  output: Answer,
  faults: [Taken],
});
const hot = operation({
  id: 'runs.test_hot',
  summary: 'Does what the test says, without a transaction.',
  http: { method: 'POST', path: '/test/hot', status: 200 },
  transaction: 'none',
  capability: 'run.read',
  audit: unaudited('a test'),
  input: { body: Input },
  output: Answer,
  faults: [],
});
const look = operation({
  id: 'runs.test_look',
  summary: 'Reads as the test says.',
  http: { method: 'GET', path: '/test/look/{id}', status: 200 },
  capability: 'run.read',
  input: { path: z.strictObject({ id: z.string() }) },
  output: Answer,
  faults: [],
});
const lookOnRecord = operation({
  id: 'runs.test_look_on_record',
  summary: 'Reads as the test says, which is put on record.',
  http: { method: 'GET', path: '/test/look-on-record/{id}', status: 200 },
  capability: 'run.read',
  audit: { action: 'test.look', target },
  input: { path: z.strictObject({ id: z.string() }) },
  output: Answer,
  faults: [],
});

let doIt: (ctx: OpContext, input: { readonly id: string }) => Promise<unknown>;
/** The ids of the facts that were delivered. */
const published: unknown[] = [];

@Controller()
class Acting {
  @Handles(act) act(ctx: OpContext, input: In<typeof act>) {
    return doIt(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(hot) hot(ctx: OpContext, input: In<typeof hot>) {
    return doIt(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(look) look(ctx: OpContext, input: In<typeof look>) {
    return doIt(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(lookOnRecord) lookOnRecord(ctx: OpContext, input: In<typeof look>) {
    return doIt(ctx, input) as Promise<{ said: string }>;
  }
}

let app: RunningApp;
let account: { readonly accountId: string; readonly key: string };
let viewer: string;
beforeAll(async () => {
  app = await startApp({ controllers: [Acting] });
  app.nest.get(Outbox).subscribe('thing.made', async ({ payload }) => void published.push(payload['id']));
  account = await app.account();
  viewer = (
    await app.call('POST', '/api/v1/api-keys', {
      key: account.key,
      body: { name: 'viewer', role_ids: ['role_viewer'] },
    })
  ).json.key;
});
afterAll(() => app.stop());
beforeEach(() => {
  doIt = async (ctx, { id }) => {
    await add(ctx, id);
    return { said: id };
  };
});

const call = (body: unknown, headers: Record<string, string> = {}, key = account.key) =>
  app.call('POST', '/test/act', { key, body, headers });

describe('a call', () => {
  it('is identified, parsed, decided, begun, handled, projected, and only then on record and committed; pokes come last', async () => {
    steps.length = 0;
    const id = randomUUID();
    const runner = new OperationRunner(
      noting(app.nest.get(Identifier), { identify: 'identify' }),
      noting(app.nest.get(Decider), { decide: 'decide' }),
      noting(app.nest.get(AuditTrail), { row: 'audit row' }),
      noting(app.nest.get(Database), { begin: 'begin' }, { commit: 'commit' }),
      noting(app.nest.get(Bus), { poke: 'fact poke' }),
      app.nest.get(Clock),
    );
    const handle = async (ctx: OpContext) => {
      steps.push('handle');
      ctx.publish('thing.made', { id });
      ctx.afterCommit(() => steps.push('own poke'));
      return { said: 'done' };
    };
    const result = await runner.run(act, handle, {
      presented: { bearer: account.key, address: '127.0.0.1' },
      input: {},
      readBody: () => {
        steps.push('parse');
        return { value: { id }, altered: [] };
      },
      idempotencyKey: undefined,
      requestId: 'req_order',
      traceparent: undefined,
      headers: new Map(),
    });
    expect(result).toEqual({ said: 'done' });
    expect(steps).toEqual([
      'identify',
      'parse',
      'decide',
      'begin',
      'handle',
      'project',
      'audit row',
      'commit',
      'own poke',
      'fact poke',
    ]);
  });

  it('K-73: commits its rows, its audit row, its facts and its answer in one database transaction', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      await add(ctx, id);
      ctx.publish('thing.made', { id });
      ctx.record({ action: 'test.further', target: ['thing', id], outcome: 'done', detail: {} });
      return { said: id };
    };
    expect((await call({ id }, { 'idempotency-key': id })).status).toBe(200);
    const rows = await app.database.query<{ xact: string }>(
      `SELECT xmin::text AS xact FROM worker WHERE id = $1
       UNION ALL SELECT xact::text FROM audit_entry WHERE target_id = $1
       UNION ALL SELECT xmin::text FROM idempotency_key WHERE key = $1`,
      [id],
    );
    expect(rows).toHaveLength(4);
    expect(new Set(rows.map(({ xact }) => xact)).size).toBe(1);
  });

  it('of an unknown caller is refused before its body is read, and one without the capability after', async () => {
    expect((await call('{', {}, 'sk_unknown')).status).toBe(401);
    expect((await call('{', {}, viewer)).json).toMatchObject({
      code: 'input.invalid',
      detail: [{ loc: ['body'], type: 'json_invalid' }],
    });
    expect((await call({ id: 'x' }, {}, viewer)).json).toMatchObject({
      code: 'access.denied',
      detail: 'This needs the capability run.cancel',
    });
  });

  it('lets nothing out that the output does not name', async () => {
    doIt = async () => ({ said: 'this', secret: 'that' });
    expect((await call({ id: 'x' })).json).toEqual({ said: 'this' });
  });
});

describe('a deed', () => {
  it('keeps nothing when its answer is not what it declared, and is on record as failed', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      await add(ctx, id);
      ctx.publish('thing.made', { id });
      return { said: 7 };
    };
    expect((await call({ id })).json).toMatchObject({ code: 'internal', detail: 'Something went wrong on our side' });
    expect([await things(id), await facts(id)]).toEqual([0, 0]);
    expect(await auditOf(id)).toEqual(['test.act failed internal']);
  });

  it('K-73: keeps nothing when its audit row cannot be written', async () => {
    const id = randomUUID();
    await app.database.query(
      `CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no row today'; END $$`,
    );
    await app.database.query(
      `CREATE TRIGGER refuse_row BEFORE INSERT ON audit_entry FOR EACH ROW WHEN (NEW.target_id = '${id}') EXECUTE FUNCTION refuse_row()`,
    );
    expect((await call({ id })).status).toBe(500);
    await app.database.query('DROP TRIGGER refuse_row ON audit_entry');
    expect(await things(id)).toBe(0);
    expect((await call({ id })).status).toBe(200);
  });

  it('K-75: is on record when it was refused, for whatever reason, without its input', async () => {
    const secret = 'do-not-repeat-me';
    await call({ id: 7, more: secret });
    await call({ id: 'refused-one' }, {}, viewer);
    const rows = await app.database.query<{ outcome: string; target: string; detail: { code: string; at?: string[] } }>(
      `SELECT outcome, target_id AS target, detail FROM audit_entry WHERE account_id = $1 AND action = 'test.act' AND outcome = 'refused' ORDER BY at DESC, id DESC LIMIT 2`,
      [account.accountId],
    );
    expect(rows).toMatchObject([
      { target: 'refused-one', detail: { code: 'access.denied' } },
      { target: '', detail: { code: 'input.invalid', at: ['body.id'] } },
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('may fail with what it declared; anything else is ours, and says nothing of itself', async () => {
    const id = randomUUID();
    doIt = async () => Promise.reject(Taken());
    expect((await call({ id })).json).toMatchObject({ code: 'things.taken', detail: 'There is one of that name' });
    for (const error of [Undeclared(), new Error('SELECT secret FROM table'), 'text']) {
      doIt = async () => Promise.reject(error);
      const { status, json } = await call({ id });
      expect([status, json.code, json.detail]).toEqual([500, 'internal', 'Something went wrong on our side']);
    }
    expect(await auditOf(id)).toEqual([
      'test.act failed things.taken',
      ...Array.from({ length: 3 }, () => 'test.act failed internal'),
    ]);
  });

  it.each([
    [1, 200],
    [2, 200],
    [3, 500],
  ])('that meets %i serialization failures is answered %i: it is tried three times', async (failures, status) => {
    const id = randomUUID();
    const told: string[] = [];
    let attempts = 0;
    doIt = async (ctx) => {
      const attempt = (attempts += 1);
      ctx.note({ [`attempt_${attempt}`]: true });
      ctx.publish('thing.made', { id });
      ctx.afterCommit(() => told.push(`attempt ${attempt}`));
      await add(ctx, id);
      if (attempt <= failures) await ctx.sql(`DO $$ BEGIN RAISE 'again' USING ERRCODE = '40001'; END $$`);
      return { said: 'done' };
    };
    expect((await call({ id })).status).toBe(status);
    const succeeds = status === 200;
    expect(attempts).toBe(succeeds ? failures + 1 : 3);
    expect(told).toEqual(succeeds ? [`attempt ${attempts}`] : []);
    expect([await things(id), await facts(id)]).toEqual(succeeds ? [1, 1] : [0, 0]);
    const [row] = await app.database.query<{ detail: object }>('SELECT detail FROM audit_entry WHERE target_id = $1', [
      id,
    ]);
    expect(Object.keys(row?.detail ?? {}).filter((key) => key.startsWith('attempt'))).toEqual(
      succeeds ? [`attempt_${attempts}`] : [],
    );
  });

  it('has poked its listeners by the time it is answered, and one that fails changes nothing', async () => {
    const told: string[] = [];
    doIt = async (ctx) => {
      ctx.afterCommit(() => {
        throw new Error('on purpose');
      });
      ctx.afterCommit(() => told.push('told'));
      return { said: 'done' };
    };
    expect((await call({ id: 'x' })).status).toBe(200);
    expect(told).toEqual(['told']);
  });

  it('answers 422 to text that PostgreSQL cannot keep', async () => {
    doIt = async (ctx) => {
      await ctx.sql('SELECT $1::text', ['a\u0000b']);
      return { said: 'never' };
    };
    expect((await call({ id: 'x' })).json).toMatchObject({
      code: 'input.invalid',
      detail: [{ loc: ['body'], type: 'text_nul' }],
    });
  });
});

describe('a read', () => {
  const read = (path: string) => app.call('GET', `${path}/some-id`, { key: account.key });

  it('cannot write, and leaves no audit row', async () => {
    doIt = async (ctx, { id }) => {
      await add(ctx, id);
      return { said: 'never' };
    };
    expect((await read('/test/look')).status).toBe(500);
    doIt = async () => ({ said: 'read' });
    expect((await read('/test/look')).json).toEqual({ said: 'read' });
    expect(await auditOf('some-id')).toEqual([]);
  });

  it('K-74: is on record where it is declared to be', async () => {
    doIt = async () => ({ said: 'read' });
    expect((await read('/test/look-on-record')).json).toEqual({ said: 'read' });
    expect(await auditOf('some-id')).toEqual(['test.look done ']);
  });
});

describe('an operation without a transaction', () => {
  const callHot = (id: string, key = account.key) => app.call('POST', '/test/hot', { key, body: { id } });

  it('has no database but for a moment of its own, and is decided like any other', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      expect(() => ctx.db).toThrow('There is no transaction here');
      expect(() => ctx.publish('thing.made', {})).toThrow('There is no transaction here');
      await expect(ctx.sql('SELECT 1')).rejects.toThrow('There is no transaction here');
      await ctx.briefly(async (inner) => {
        await add(inner, id);
        inner.publish('thing.made', { id });
        await expect(ctx.briefly(async () => 1)).rejects.toThrow('There is a transaction here already');
      });
      return { said: 'hot' };
    };
    expect((await callHot(id)).json).toEqual({ said: 'hot' });
    expect([await things(id), await facts(id)]).toEqual([1, 1]);
    const powerless = (await app.call('POST', '/api/v1/api-keys', { key: account.key, body: { name: 'none' } })).json
      .key;
    expect((await callHot(id, powerless)).status).toBe(403);
  });
});

describe('what is answered later', () => {
  it('is found out after the commit, without a transaction, and goes through the output as well', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      await add(ctx, id);
      let poked = false;
      ctx.afterCommit(() => (poked = true));
      return later(async () => {
        expect(poked).toBe(true);
        await expect(ctx.sql('SELECT 1')).rejects.toThrow('There is no transaction here');
        const rows = await ctx.briefly((inner) =>
          inner.sql('SELECT 1 FROM worker WHERE account_id = $1 AND id = $2', [ctx.actor.accountId, id]),
        );
        return { said: `${rows.length} row`, secret: 'that' };
      });
    };
    expect((await call({ id })).json).toEqual({ said: '1 row' });
  });

  it.each([
    ['is no answer', async () => ({ said: 7 }), 500, 'internal'],
    [
      'looks like a conflict',
      async () => Promise.reject(Object.assign(new Error('again'), { code: '40001' })),
      500,
      'internal',
    ],
    ['is a fault that an equal call would explain', async () => Promise.reject(Taken()), 409, 'things.taken'],
    [
      'meets a database that is away',
      async () => Promise.reject(Object.assign(new Error('away'), { code: 'ECONNREFUSED' })),
      503,
      'outcome.unknown',
    ],
  ])('and %s does not undo, repeat or deny the deed', async (_, finish, status, code) => {
    const id = randomUUID();
    let deeds = 0;
    doIt = async (ctx) => {
      deeds += 1;
      await add(ctx, id);
      return later(finish as () => Promise<never>);
    };
    const answer = await call({ id }, { 'idempotency-key': id });
    expect([answer.status, answer.json.code, deeds]).toEqual([status, code, 1]);
    expect([await things(id), await auditOf(id)]).toEqual([1, ['test.act done ']]);
  });
});

describe('a repeated call', () => {
  it('U-3: with the same key and input is the same call, however its JSON is written', async () => {
    const id = randomUUID();
    const first = await call({ id, more: { a: 1, b: [2] } }, { 'idempotency-key': id });
    doIt = async () => ({ said: 'again' });
    const second = await call(`{ "more": {"b": [2.0], "a": 1},\n "id": "${id}" }`, { 'idempotency-key': id });
    expect([first.status, first.json, second.status, second.json]).toEqual([200, { said: id }, 200, { said: id }]);
    expect([await things(id), await auditOf(id)]).toEqual([1, ['test.act done ']]);
  });

  it('F-50: is the same call when many run at once', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      const mine = randomUUID();
      ctx.publish('thing.made', { id, mine });
      await ctx.sql('SELECT pg_sleep(0.05)');
      return { said: mine };
    };
    const answers = await Promise.all(Array.from({ length: 30 }, () => call({ id }, { 'idempotency-key': id })));
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.said}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect([await facts(id), (await auditOf(id)).length]).toEqual([1, 1]);
  });

  it('at the same time as one that takes the name meets no conflict but its answer', async () => {
    const id = randomUUID();
    doIt = async (ctx) => {
      const rows = await ctx.sql('SELECT 1 FROM worker WHERE account_id = $1 AND id = $2', [ctx.actor.accountId, id]);
      if (rows.length > 0) throw Taken();
      await ctx.sql('SELECT pg_sleep(0.05)');
      await ctx.sql(
        'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3) ON CONFLICT DO NOTHING',
        [ctx.actor.accountId, id, 'x'],
      );
      return { said: 'taken by this call' };
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => call({ id }, { 'idempotency-key': id })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await call({ id })).status).toBe(409);
  });

  it('U-3: with the same key and another input is refused', async () => {
    const id = randomUUID();
    await call({ id, more: 1 }, { 'idempotency-key': id });
    expect((await call({ id, more: 2 }, { 'idempotency-key': id })).json).toMatchObject({
      code: 'idempotency.conflict',
    });
  });

  it('is another call for another principal', async () => {
    const id = randomUUID();
    const other = await app.account();
    doIt = async (ctx) => ({ said: ctx.actor.accountId });
    const answers = [
      await call({ id }, { 'idempotency-key': id }),
      await call({ id }, { 'idempotency-key': id }, other.key),
    ];
    expect(answers.map(({ json }) => json.said)).toEqual([account.accountId, other.accountId]);
  });

  it('of one that failed is a new call', async () => {
    const id = randomUUID();
    doIt = async () => Promise.reject(new Error('on purpose'));
    expect((await call({ id }, { 'idempotency-key': id })).status).toBe(500);
    doIt = async () => ({ said: 'now' });
    expect((await call({ id }, { 'idempotency-key': id })).json).toEqual({ said: 'now' });
  });

  it('of one whose answer came later waits for the same deed’s answer', async () => {
    const id = randomUUID();
    const seen: unknown[] = [];
    doIt = async (ctx) => {
      seen.push(ctx.repeated);
      if (ctx.repeated === undefined) await add(ctx, id);
      return later(async () => ({ said: `answer ${seen.length}` }), { made: id });
    };
    for (const said of ['answer 1', 'answer 2']) {
      expect((await call({ id }, { 'idempotency-key': id })).json).toEqual({ said });
    }
    expect(seen).toEqual([undefined, { made: id }]);
    expect([await things(id), await auditOf(id)]).toEqual([1, ['test.act done ']]);
  });

  it.each(['', 'k'.repeat(256), 'ü'])('needs a key that is one (%j)', async (key) => {
    const answer = await call({ id: 'x' }, { 'idempotency-key': Buffer.from(key).toString('latin1') });
    expect(answer.json).toMatchObject({ code: 'input.invalid', detail: [{ loc: ['headers', 'Idempotency-Key'] }] });
  });
});

/** Adds a row that a test can count; a worker's needs least. */
async function add(ctx: OpContext, id: string): Promise<void> {
  await ctx.sql('INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3)', [
    ctx.actor.accountId,
    id,
    'none',
  ]);
}

async function things(id: string): Promise<number> {
  return (await app.database.query('SELECT 1 FROM worker WHERE id = $1', [id])).length;
}

async function facts(id: string): Promise<number> {
  const waiting = () => app.database.query(`SELECT 1 FROM outbox_message WHERE payload ->> 'id' = $1`, [id]);
  while ((await waiting()).length > 0) await sleep(5); // jest's timeout is the limit
  return published.filter((fact) => fact === id).length;
}

async function auditOf(id: string): Promise<string[]> {
  const sql = `SELECT concat(action, ' ', outcome, ' ', detail ->> 'code') AS line FROM audit_entry WHERE target_id = $1 ORDER BY at, id`;
  return (await app.database.query<{ line: string }>(sql, [id])).map(({ line }) => line);
}

/** The same object, telling when these methods are called; `inner` those of what its methods return. */
function noting<T extends object>(
  object: T,
  labels: Readonly<Record<string, string>>,
  inner?: Readonly<Record<string, string>>,
): T {
  return new Proxy(object, {
    get: (of, name) => {
      const value: unknown = Reflect.get(of, name);
      if (typeof value !== 'function') return value;
      return (...given: unknown[]): unknown => {
        const label = labels[String(name)];
        if (label !== undefined) steps.push(label);
        const returned: unknown = Reflect.apply(value, of, given);
        if (label === undefined || !inner) return returned;
        return (returned as Promise<object>).then((made) => noting(made, inner));
      };
    },
  });
}
