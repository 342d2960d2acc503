import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { later } from '../../../src/platform/operation/later.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { Taken, add, addOne, deed, startStage } from './acting.ts';

let stage: Awaited<ReturnType<typeof startStage>>;
beforeAll(async () => void (stage = await startStage()));
afterAll(() => stage.app.stop());
beforeEach(() => void (deed.act = addOne));

describe('a repeated call', () => {
  it('U-3: with the same key and input is the same call, however its JSON is written', async () => {
    const id = randomUUID();
    const first = await stage.call({ id, more: { a: 1, b: [2] } }, { 'idempotency-key': id });
    deed.act = async () => ({ said: 'again' });
    const second = await stage.call(`{ "more": {"b": [2.0], "a": 1},\n "id": "${id}" }`, { 'idempotency-key': id });
    expect([first.status, first.json, second.status, second.json]).toEqual([200, { said: id }, 200, { said: id }]);
    expect([await stage.things(id), await stage.auditOf(id)]).toEqual([1, ['test.act done ']]);
  });

  it('F-50: is the same call when many run at once', async () => {
    const id = randomUUID();
    deed.act = async (ctx) => {
      const mine = randomUUID();
      ctx.publish('thing.made', { id, mine });
      await ctx.sql('SELECT pg_sleep(0.05)');
      return { said: mine };
    };
    let begun = 0;
    const { act } = deed;
    deed.act = (...call) => {
      begun += 1;
      return act(...call);
    };
    const answers = await Promise.all(Array.from({ length: 50 }, () => stage.call({ id }, { 'idempotency-key': id })));
    expect(begun).toBe(1); // the others held no connection meanwhile
    expect(new Set(answers.map(({ status, json }) => `${status} ${json.said}`)).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    expect([await stage.facts(id), (await stage.auditOf(id)).length]).toEqual([1, 1]);
  });

  it('at the same time as one that takes the name meets no conflict but its answer', async () => {
    const id = randomUUID();
    deed.act = async (ctx) => {
      const rows = await ctx.sql('SELECT 1 FROM worker WHERE account_id = $1 AND id = $2', [ctx.actor.accountId, id]);
      if (rows.length > 0) throw Taken();
      await ctx.sql('SELECT pg_sleep(0.05)');
      await ctx.sql(
        'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3) ON CONFLICT DO NOTHING',
        [ctx.actor.accountId, id, 'x'],
      );
      return { said: 'taken by this call' };
    };
    const answers = await Promise.all(Array.from({ length: 8 }, () => stage.call({ id }, { 'idempotency-key': id })));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect((await stage.call({ id })).status).toBe(409);
  });

  it('U-3: with the same key and another input is refused', async () => {
    const id = randomUUID();
    await stage.call({ id, more: 1 }, { 'idempotency-key': id });
    expect((await stage.call({ id, more: 2 }, { 'idempotency-key': id })).json).toMatchObject({
      code: 'idempotency.conflict',
    });
  });

  it('is another call for another principal', async () => {
    const id = randomUUID();
    const other = await stage.app.account();
    deed.act = async (ctx) => ({ said: ctx.actor.accountId });
    const answers = [
      await stage.call({ id }, { 'idempotency-key': id }),
      await stage.call({ id }, { 'idempotency-key': id }, other.key),
    ];
    expect(answers.map(({ json }) => json.said)).toEqual([stage.account.accountId, other.accountId]);
  });

  it('of one that failed is a new call', async () => {
    const id = randomUUID();
    deed.act = async () => Promise.reject(new Error('on purpose'));
    expect((await stage.call({ id }, { 'idempotency-key': id })).status).toBe(500);
    deed.act = async () => ({ said: 'now' });
    expect((await stage.call({ id }, { 'idempotency-key': id })).json).toEqual({ said: 'now' });
  });

  it('F-50: is a new call once the key’s time is over', async () => {
    const id = randomUUID();
    deed.act = async () => ({ said: 'first' });
    await stage.call({ id }, { 'idempotency-key': id });
    deed.act = async () => ({ said: 'second' });
    for (const [hours, said] of [
      [23, 'first'],
      [25, 'second'],
    ] as const) {
      await stage.app.database.query(
        'UPDATE idempotency_key SET created_at = now() - make_interval(hours => $2) WHERE key = $1',
        [id, hours],
      );
      await stage.app.nest.get(Sweeper).now('operation.forget_answers');
      expect((await stage.call({ id }, { 'idempotency-key': id })).json).toEqual({ said });
    }
  });

  it('of one whose answer came later waits for the same deed’s answer', async () => {
    const id = randomUUID();
    const seen: unknown[] = [];
    deed.act = async (ctx) => {
      seen.push(ctx.repeated);
      if (ctx.repeated === undefined) await add(ctx, id);
      return later(async () => ({ said: `answer ${seen.length}` }), { made: id });
    };
    for (const said of ['answer 1', 'answer 2']) {
      expect((await stage.call({ id }, { 'idempotency-key': id })).json).toEqual({ said });
    }
    expect(seen).toEqual([undefined, { made: id }]);
    expect([await stage.things(id), await stage.auditOf(id)]).toEqual([1, ['test.act done ']]);
  });

  it.each(['', 'k'.repeat(256), 'ü'])('needs a key that is one (%j)', async (key) => {
    const answer = await stage.call({ id: 'x' }, { 'idempotency-key': Buffer.from(key).toString('latin1') });
    expect(answer.json).toMatchObject({ code: 'input.invalid', detail: [{ loc: ['headers', 'Idempotency-Key'] }] });
  });
});
