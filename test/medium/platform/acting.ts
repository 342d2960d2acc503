import { setTimeout as sleep } from 'node:timers/promises';
import { Controller } from '@nestjs/common';
import { z } from 'zod';
import { fault } from '../../../src/platform/faults/faults.ts';
import { Handles } from '../../../src/platform/operation/handles.ts';
import { operation, unaudited, type In, type OpContext } from '../../../src/platform/operation/operation.ts';
import { Outbox } from '../../../src/platform/outbox/outbox.ts';
import { startApp } from '../../support/app.ts';

const Input = z.object({ id: z.string(), more: z.unknown().optional() });
export const Taken = fault('things.taken', 'conflict', 'There is one of that name');
/** What is noted in the order in which it happens. */
export const steps: string[] = [];
const Answer = z.object({ said: z.string() }).transform((answer) => {
  steps.push('project');
  return answer;
});
const target = ({ id }: { id: string }) => ['thing', id] as const;

export const act = operation({
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

type Deed = (ctx: OpContext, input: { readonly id: string }) => Promise<unknown>;

/** What the operations do; a test says it anew. */
export const deed: { act: Deed } = { act: addOne };

/** Adds a row that a test can count; a worker's needs least. */
export async function add(ctx: OpContext, id: string): Promise<void> {
  const text = 'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $3)';
  await ctx.sql(text, [ctx.actor.accountId, id, 'none']);
}

/** Adds the row that the input names, and says so. */
export async function addOne(ctx: OpContext, { id }: { readonly id: string }): Promise<{ said: string }> {
  await add(ctx, id);
  return { said: id };
}

@Controller()
class Acting {
  @Handles(act) act(ctx: OpContext, input: In<typeof act>) {
    return deed.act(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(hot) hot(ctx: OpContext, input: In<typeof hot>) {
    return deed.act(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(look) look(ctx: OpContext, input: In<typeof look>) {
    return deed.act(ctx, input) as Promise<{ said: string }>;
  }
  @Handles(lookOnRecord) lookOnRecord(ctx: OpContext, input: In<typeof look>) {
    return deed.act(ctx, input) as Promise<{ said: string }>;
  }
}

/** The application with operations that do what a test says, and what is left of them in the database. */
export async function startStage() {
  const app = await startApp({ controllers: [Acting] });
  const published: unknown[] = [];
  app.nest.get(Outbox).subscribe('thing.made', async ({ payload }) => void published.push(payload['id']));
  const account = await app.account();
  const keyWith = async (body: object): Promise<string> =>
    (await app.call('POST', '/api/v1/api-keys', { key: account.key, body: { name: 'made', ...body } })).json.key;
  return {
    app,
    account,
    viewer: await keyWith({ role_ids: ['role_viewer'] }),
    powerless: await keyWith({}),
    call: (body: unknown, headers: Record<string, string> = {}, key = account.key) =>
      app.call('POST', '/test/act', { key, body, headers }),
    /** How many rows of that id there are. */
    things: async (id: string) => (await app.database.query('SELECT 1 FROM worker WHERE id = $1', [id])).length,
    /** How many facts about it were delivered, once none waits any more. */
    facts: async (id: string) => {
      const waiting = () => app.database.query(`SELECT 1 FROM outbox_message WHERE payload ->> 'id' = $1`, [id]);
      while ((await waiting()).length > 0) await sleep(5); // jest's timeout is the limit
      return published.filter((fact) => fact === id).length;
    },
    /** The audit rows about it: action, outcome and code. */
    auditOf: async (id: string) => {
      const sql = `SELECT concat(action, ' ', outcome, ' ', detail ->> 'code') AS line FROM audit_entry WHERE target_id = $1 ORDER BY at, id`;
      return (await app.database.query<{ line: string }>(sql, [id])).map(({ line }) => line);
    },
  };
}
