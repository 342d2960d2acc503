import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Bus } from '../../../src/platform/bus/bus.ts';
import { Clock } from '../../../src/platform/clock/clock.ts';
import { Database } from '../../../src/platform/db/database.ts';
import { setLogLevel } from '../../../src/platform/log/log.ts';
import { Outbox, factRows, type DeliveredFact } from '../../../src/platform/outbox/outbox.ts';
import { Replica } from '../../../src/platform/replica/replica.ts';
import { Sweeper } from '../../../src/platform/sweep/sweep.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

let suite: SuiteDatabase;
let database: Database;
beforeEach(async () => {
  setLogLevel('error'); // subscribers fail here on purpose
  suite = await createSuiteDatabase();
  database = new Database(suite.url);
});
afterEach(async () => {
  await database.close();
  await suite.drop();
});

describe('a fact', () => {
  it('reaches every subscriber of its topic with its account, and is forgotten then', async () => {
    const { outbox } = open();
    const [first, others] = [listen(outbox, 'thing.made'), listen(outbox, 'thing.made')];
    listen(outbox, 'thing.lost');
    await tell('acct_1', 'thing.made', { id: 'x', deep: { list: [1, null, 'ü'] } });
    expect(await outbox.run()).toEqual({ delivered: 1, failed: 0 });
    expect(first).toMatchObject([
      { accountId: 'acct_1', topic: 'thing.made', payload: { id: 'x', deep: { list: [1, null, 'ü'] } } },
    ]);
    expect(others).toHaveLength(1);
    expect(await waiting()).toEqual([]);
    expect(outbox.topics()).toEqual(['thing.lost', 'thing.made']);
  });

  it('is told if and only if the transaction that makes it true commits', async () => {
    const { outbox } = open();
    const heard = listen(outbox, 'thing.made');
    const work = database.asAccount('acct_1', async (own) => {
      for (const statement of factRows('acct_1', [{ topic: 'thing.made', payload: {} }])) await own.query(statement);
      throw new Error('undone');
    });
    await expect(work).rejects.toThrow('undone');
    expect(await outbox.run()).toEqual({ delivered: 0, failed: 0 });
    expect(heard).toEqual([]);
  });

  it('comes again until its subscriber takes it, each time later, and does not hold up the others', async () => {
    const { outbox } = open();
    let failures = 2;
    const taken: string[] = [];
    outbox.subscribe('thing.made', async ({ payload }) => {
      if (payload['id'] === 'hard' && (failures -= 1) >= 0) throw new Error('on purpose');
      taken.push(String(payload['id']));
    });
    await tell('acct_1', 'thing.made', { id: 'hard' }, { id: 'easy' });
    expect(await outbox.run()).toEqual({ delivered: 1, failed: 1 });
    expect(await outbox.run()).toEqual({ delivered: 0, failed: 0 }); // not due yet
    const waits = [await dueInSeconds()];
    await suite.query('UPDATE outbox_message SET due_at = now()');
    expect(await outbox.run()).toEqual({ delivered: 0, failed: 1 });
    waits.push(await dueInSeconds());
    await suite.query('UPDATE outbox_message SET due_at = now()');
    expect(await outbox.run()).toEqual({ delivered: 1, failed: 0 });
    expect(taken).toEqual(['easy', 'hard']);
    expect(waits.map(Math.round)).toEqual([1, 2]);
  });

  it('that nobody takes for long comes back after five minutes at most', async () => {
    const { outbox } = open();
    outbox.subscribe('thing.made', async () => Promise.reject(new Error('on purpose')));
    await tell('acct_1', 'thing.made', {});
    await suite.query('UPDATE outbox_message SET attempts = 500');
    expect(await outbox.run()).toEqual({ delivered: 0, failed: 1 });
    expect(Math.round(await dueInSeconds())).toBe(300);
  });

  it('of many is delivered once while several replicas deliver, batch after batch', async () => {
    const replicas = [open(), open(), open()];
    const heard = replicas.map(({ outbox }) => listen(outbox, 'thing.made'));
    await tell('acct_1', 'thing.made', ...Array.from({ length: 350 }, (_, n) => ({ n })));
    const reports = await Promise.all(replicas.map(({ outbox }) => outbox.run()));
    expect(reports.reduce((sum, { delivered = 0 }) => sum + delivered, 0)).toBe(350);
    const numbers = heard.flat().map(({ payload }) => Number(payload['n']));
    expect(numbers.sort((a, b) => a - b)).toEqual(Array.from({ length: 350 }, (_, n) => n));
  });

  it('is delivered on a poke, without waiting for the next tick', async () => {
    const { outbox, bus } = open();
    const heard = listen(outbox, 'thing.made');
    await tell('acct_1', 'thing.made', {});
    bus.poke('outbox.filled', 'acct_1');
    while (heard.length === 0) await sleep(5); // jest's timeout is the limit
    while ((await waiting()).length > 0) await sleep(5);
  });
});

function open(): { outbox: Outbox; bus: Bus } {
  const clock = new Clock();
  const bus = new Bus(suite.url, database, new Replica(clock, database), clock); // it hears its own process without listening
  return { outbox: new Outbox(database, new Sweeper(clock), bus), bus };
}

function listen(outbox: Outbox, topic: string): DeliveredFact[] {
  const heard: DeliveredFact[] = [];
  outbox.subscribe(topic, async (fact) => void heard.push(fact));
  return heard;
}

async function tell(
  accountId: string,
  topic: string,
  ...payloads: readonly Readonly<Record<string, unknown>>[]
): Promise<void> {
  const facts = payloads.map((payload) => ({ topic, payload }));
  await database.asAccount(accountId, async (own) => {
    for (const statement of factRows(accountId, facts)) await own.query(statement);
  });
}

async function waiting(): Promise<unknown[]> {
  return suite.query('SELECT topic FROM outbox_message');
}

async function dueInSeconds(): Promise<number> {
  const [row] = await suite.query<{ seconds: number }>(
    'SELECT extract(epoch FROM due_at - now())::float8 AS seconds FROM outbox_message',
  );
  return row?.seconds ?? NaN;
}
