import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Bus } from '../../../src/platform/bus/bus.ts';
import { Clock } from '../../../src/platform/clock/clock.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { fault } from '../../../src/platform/faults/faults.ts';
import { later } from '../../../src/platform/operation/later.ts';
import type { OpContext } from '../../../src/platform/operation/operation.ts';
import { AuditTrail, Decider, Identifier } from '../../../src/platform/operation/ports.ts';
import { OperationRunner } from '../../../src/platform/operation/runner.ts';
import { Taken, act, add, addOne, deed, startStage, steps } from './acting.ts';

const Undeclared = fault('things.undeclared', 'conflict', 'Nobody declared this');

let stage: Awaited<ReturnType<typeof startStage>>;
beforeAll(async () => void (stage = await startStage()));
afterAll(() => stage.app.stop());
beforeEach(() => void (deed.act = addOne));

describe('a call', () => {
  it('is identified, parsed, decided, begun, handled, projected, and only then on record and committed; pokes come last', async () => {
    steps.length = 0;
    const id = randomUUID();
    const runner = new OperationRunner(
      noting(stage.app.nest.get(Identifier), { identify: 'identify' }),
      noting(stage.app.nest.get(Decider), { decide: 'decide' }),
      noting(stage.app.nest.get(AuditTrail), { row: 'audit row' }),
      noting(stage.app.nest.get(Database), { begin: 'begin' }, { commit: 'commit' }),
      noting(stage.app.nest.get(Bus), { poke: 'fact poke' }),
      stage.app.nest.get(Clock),
    );
    const handle = async (ctx: OpContext) => {
      steps.push('handle');
      ctx.publish('thing.made', { id });
      ctx.afterCommit(() => steps.push('own poke'));
      return { said: 'done' };
    };
    const result = await runner.run(act, handle, {
      presented: { bearer: stage.account.key, address: '127.0.0.1' },
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
    deed.act = async (ctx) => {
      await add(ctx, id);
      ctx.publish('thing.made', { id });
      ctx.record({ action: 'test.further', target: ['thing', id], outcome: 'done', detail: {} });
      return { said: id };
    };
    expect((await stage.call({ id }, { 'idempotency-key': id })).status).toBe(200);
    const rows = await stage.app.database.query<{ xact: string }>(
      `SELECT xmin::text AS xact FROM worker WHERE id = $1
       UNION ALL SELECT xact::text FROM audit_entry WHERE target_id = $1
       UNION ALL SELECT xmin::text FROM idempotency_key WHERE key = $1`,
      [id],
    );
    expect(rows).toHaveLength(4);
    expect(new Set(rows.map(({ xact }) => xact)).size).toBe(1);
  });

  it('of an unknown caller is refused before its body is read, and one without the capability after', async () => {
    expect((await stage.call('{', {}, 'sk_unknown')).status).toBe(401);
    expect((await stage.call('{', {}, stage.viewer)).json).toMatchObject({
      code: 'input.invalid',
      detail: [{ loc: ['body'], type: 'json_invalid' }],
    });
    expect((await stage.call({ id: 'x' }, {}, stage.viewer)).json).toMatchObject({
      code: 'access.denied',
      detail: 'This needs the capability run.cancel',
    });
  });

  it('lets nothing out that the output does not name', async () => {
    deed.act = async () => ({ said: 'this', secret: 'that' });
    expect((await stage.call({ id: 'x' })).json).toEqual({ said: 'this' });
  });
});

describe('a deed', () => {
  it('keeps nothing when its answer is not what it declared, and is on record as failed', async () => {
    const id = randomUUID();
    deed.act = async (ctx) => {
      await add(ctx, id);
      ctx.publish('thing.made', { id });
      return { said: 7 };
    };
    expect((await stage.call({ id })).json).toMatchObject({
      code: 'internal',
      detail: 'Something went wrong on our side',
    });
    expect([await stage.things(id), await stage.facts(id)]).toEqual([0, 0]);
    expect(await stage.auditOf(id)).toEqual(['test.act failed internal']);
  });

  it('K-73: keeps nothing when its audit row cannot be written', async () => {
    const id = randomUUID();
    await stage.app.database.query(
      `CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no row today'; END $$`,
    );
    await stage.app.database.query(
      `CREATE TRIGGER refuse_row BEFORE INSERT ON audit_entry FOR EACH ROW WHEN (NEW.target_id = '${id}') EXECUTE FUNCTION refuse_row()`,
    );
    expect((await stage.call({ id })).status).toBe(500);
    await stage.app.database.query('DROP TRIGGER refuse_row ON audit_entry');
    expect(await stage.things(id)).toBe(0);
    expect((await stage.call({ id })).status).toBe(200);
  });

  it('K-75: is on record when it was refused, for whatever reason, without its input', async () => {
    const secret = 'do-not-repeat-me';
    await stage.call({ id: 7, more: secret });
    await stage.call({ id: 'refused-one' }, {}, stage.viewer);
    const rows = await stage.app.database.query<{
      outcome: string;
      target: string;
      detail: { code: string; at?: string[] };
    }>(
      `SELECT outcome, target_id AS target, detail FROM audit_entry WHERE account_id = $1 AND action = 'test.act' AND outcome = 'refused' ORDER BY at DESC, id DESC LIMIT 2`,
      [stage.account.accountId],
    );
    expect(rows).toMatchObject([
      { target: 'refused-one', detail: { code: 'access.denied' } },
      { target: '', detail: { code: 'input.invalid', at: ['body.id'] } },
    ]);
    expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('may fail with what it declared; anything else is ours, and says nothing of itself', async () => {
    const id = randomUUID();
    deed.act = async () => Promise.reject(Taken());
    expect((await stage.call({ id })).json).toMatchObject({
      code: 'things.taken',
      detail: 'There is one of that name',
    });
    for (const error of [Undeclared(), new Error('SELECT secret FROM table'), 'text']) {
      deed.act = async () => Promise.reject(error);
      const { status, json } = await stage.call({ id });
      expect([status, json.code, json.detail]).toEqual([500, 'internal', 'Something went wrong on our side']);
    }
    expect(await stage.auditOf(id)).toEqual([
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
    deed.act = async (ctx) => {
      const attempt = (attempts += 1);
      ctx.note({ [`attempt_${attempt}`]: true });
      ctx.publish('thing.made', { id });
      ctx.afterCommit(() => told.push(`attempt ${attempt}`));
      await add(ctx, id);
      if (attempt <= failures) await ctx.sql(`DO $$ BEGIN RAISE 'again' USING ERRCODE = '40001'; END $$`);
      return { said: 'done' };
    };
    expect((await stage.call({ id })).status).toBe(status);
    const succeeds = status === 200;
    expect(attempts).toBe(succeeds ? failures + 1 : 3);
    expect(told).toEqual(succeeds ? [`attempt ${attempts}`] : []);
    expect([await stage.things(id), await stage.facts(id)]).toEqual(succeeds ? [1, 1] : [0, 0]);
    const [row] = await stage.app.database.query<{ detail: object }>(
      'SELECT detail FROM audit_entry WHERE target_id = $1',
      [id],
    );
    expect(Object.keys(row?.detail ?? {}).filter((key) => key.startsWith('attempt'))).toEqual(
      succeeds ? [`attempt_${attempts}`] : [],
    );
  });

  it('has poked its listeners by the time it is answered, and one that fails changes nothing', async () => {
    const told: string[] = [];
    deed.act = async (ctx) => {
      ctx.afterCommit(() => {
        throw new Error('on purpose');
      });
      ctx.afterCommit(() => told.push('told'));
      return { said: 'done' };
    };
    expect((await stage.call({ id: 'x' })).status).toBe(200);
    expect(told).toEqual(['told']);
  });

  it('answers 422 to text that PostgreSQL cannot keep', async () => {
    deed.act = async (ctx) => {
      await ctx.sql('SELECT $1::text', ['a\u0000b']);
      return { said: 'never' };
    };
    expect((await stage.call({ id: 'x' })).json).toMatchObject({
      code: 'input.invalid',
      detail: [{ loc: ['body'], type: 'text_nul' }],
    });
  });
});

describe('a read', () => {
  const read = (path: string) => stage.app.call('GET', `${path}/some-id`, { key: stage.account.key });

  it('cannot write, and leaves no audit row', async () => {
    deed.act = async (ctx, { id }) => {
      await add(ctx, id);
      return { said: 'never' };
    };
    expect((await read('/test/look')).status).toBe(500);
    deed.act = async () => ({ said: 'read' });
    expect((await read('/test/look')).json).toEqual({ said: 'read' });
    expect(await stage.auditOf('some-id')).toEqual([]);
  });

  it('K-74: is on record where it is declared to be', async () => {
    deed.act = async () => ({ said: 'read' });
    expect((await read('/test/look-on-record')).json).toEqual({ said: 'read' });
    expect(await stage.auditOf('some-id')).toEqual(['test.look done ']);
  });
});

describe('an operation without a transaction', () => {
  const callHot = (id: string, key = stage.account.key) => stage.app.call('POST', '/test/hot', { key, body: { id } });

  it('has no database but for a moment of its own, and is decided like any other', async () => {
    const id = randomUUID();
    deed.act = async (ctx) => {
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
    expect([await stage.things(id), await stage.facts(id)]).toEqual([1, 1]);
    const powerless = (
      await stage.app.call('POST', '/api/v1/api-keys', { key: stage.account.key, body: { name: 'none' } })
    ).json.key;
    expect((await callHot(id, powerless)).status).toBe(403);
  });
});

describe('what is answered later', () => {
  it('is found out after the commit, without a transaction, and goes through the output as well', async () => {
    const id = randomUUID();
    deed.act = async (ctx) => {
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
    expect((await stage.call({ id })).json).toEqual({ said: '1 row' });
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
    deed.act = async (ctx) => {
      deeds += 1;
      await add(ctx, id);
      return later(finish as () => Promise<never>);
    };
    const answer = await stage.call({ id }, { 'idempotency-key': id });
    expect([answer.status, answer.json.code, deeds]).toEqual([status, code, 1]);
    expect([await stage.things(id), await stage.auditOf(id)]).toEqual([1, ['test.act done ']]);
  });
});

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
