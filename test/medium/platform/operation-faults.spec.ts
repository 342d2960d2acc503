import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { Handles } from '../../../src/platform/operation/handles.ts';
import { operation, type In, type OpContext } from '../../../src/platform/operation/operation.ts';
import { startApp, type RunningApp } from '../../support/app.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';

const Answer = z.object({ said: z.string() });
const shape = {
  capability: 'run.cancel',
  input: { body: z.object({ id: z.string() }) },
  output: Answer,
  faults: [],
} as const;
const add = operation({
  ...shape,
  id: 'runs.test_add',
  summary: 'Adds a row.',
  http: { method: 'POST', path: '/test/add', status: 201 },
  audit: { action: 'test.add', target: ({ id }) => ['thing', id] },
});
const cut = operation({
  ...shape,
  id: 'runs.test_cut',
  summary: 'Loses its session half-way.',
  http: { method: 'POST', path: '/test/cut', status: 200 },
  audit: { action: 'test.cut', target: ({ id }) => ['thing', id] },
});
const look = operation({
  ...shape,
  id: 'runs.test_look',
  summary: 'Reads.',
  http: { method: 'GET', path: '/test/look', status: 200 },
  input: {},
});

const ADD = 'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3)';

@Controller()
class Trouble {
  @Handles(add) async add(ctx: OpContext, { id }: In<typeof add>) {
    await ctx.sql(ADD, [ctx.actor.accountId, id, 'none']);
    if (id.startsWith('lost-later')) await app.database.query('SELECT pg_sleep(0.1)');
    return { said: id };
  }
  @Handles(cut) async cut(ctx: OpContext, { id }: In<typeof cut>) {
    await ctx.sql(ADD, [ctx.actor.accountId, id, 'none']);
    const [session] = await ctx.sql<{ pid: number }>('SELECT pg_backend_pid() AS pid');
    await app.database.query('SELECT pg_terminate_backend($1)', [session?.pid]);
    await ctx.db.worker.count();
    return { said: 'never' };
  }
  @Handles(look) async look(ctx: OpContext) {
    return { said: String((await ctx.sql('SELECT 1 FROM worker')).length) };
  }
}

let app: RunningApp;
let proxy: DatabaseProxy;
let key: string;
beforeAll(async () => {
  const via = async (url: string) => {
    const between = await DatabaseProxy.before(url);
    proxy = between.proxy;
    return between.url;
  };
  app = await startApp({ controllers: [Trouble], via });
  ({ key } = await app.account());
  await app.call('POST', '/test/add', { key, body: { id: 'warm' } }); // roles and credentials are known from here on
});
afterAll(async () => {
  await app.stop();
  await proxy.close();
});

const post = (path: string, id: string, more: Record<string, string> = {}) =>
  app.call('POST', path, { key, body: { id }, headers: more });

describe('when the database', () => {
  it('commits and its answer is lost, the answer is the truth', async () => {
    const id = randomUUID();
    proxy.loseNextCommit('after');
    expect((await post('/test/add', id)).status).toBe(201);
    expect([await things(id), await auditOf(id)]).toEqual([1, ['test.add done']]);
  });

  it('never gets the COMMIT, the answer is 503 and nothing is kept', async () => {
    const id = randomUUID();
    proxy.loseNextCommit('before');
    const answer = await post('/test/add', id);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    expect(answer.json).toEqual({
      detail: 'The database is away; nothing was changed',
      code: 'database.unavailable',
      request_id: answer.headers.get('x-request-id'),
    });
    expect([await things(id), await auditOf(id)]).toEqual([0, []]);
  });

  it('loses COMMITs at random under load, every answer is the truth', async () => {
    const ids = Array.from(
      { length: 60 },
      (_, index) => `lost-${index % 3 ? 'now' : 'later'}-${index}-${randomUUID()}`,
    );
    const answers = await Promise.all(
      ids.map(async (id, index) => {
        if (index % 6 === 0) proxy.loseNextCommit(index % 12 === 0 ? 'after' : 'before');
        return [id, (await post('/test/add', id)).status] as const;
      }),
    );
    for (const [id, status] of answers) {
      expect([201, 503]).toContain(status);
      expect([id, await things(id), (await auditOf(id)).length]).toEqual([
        id,
        status === 201 ? 1 : 0,
        status === 201 ? 1 : 0,
      ]);
    }
    expect(answers.some(([, status]) => status === 201)).toBe(true);
  });

  it('ends the session in the middle, the answer is 503 and the next call works', async () => {
    const id = randomUUID();
    expect((await post('/test/cut', id)).status).toBe(503);
    expect(await things(id)).toBe(0);
    expect((await app.call('GET', '/test/look', { key })).status).toBe(200);
  });

  it('U-28: is away, calls are answered 503 and when to come again; the process still turns, but takes no work', async () => {
    expect((await app.call('GET', '/readyz')).json).toMatchObject({ status: 'ready' });
    await proxy.close();
    for (const answer of [
      await app.call('GET', '/test/look', { key }),
      await post('/test/add', 'x'),
      await app.call('GET', '/readyz'),
    ]) {
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2']);
    }
    const stranger = await app.call('GET', '/test/look', { key: 'sk_nobody_knows_this_one' });
    expect([stranger.status, stranger.json.code]).toEqual([503, 'database.unavailable']);
    expect((await app.call('GET', '/healthz')).json).toEqual({ status: 'ok' });
  });
});

async function things(id: string): Promise<number> {
  return (await app.database.query('SELECT 1 FROM worker WHERE id = $1', [id])).length;
}

async function auditOf(id: string): Promise<string[]> {
  const sql = `SELECT concat(action, ' ', outcome) AS line FROM audit_entry WHERE target_id = $1 ORDER BY at, id`;
  return (await app.database.query<{ line: string }>(sql, [id])).map(({ line }) => line);
}
