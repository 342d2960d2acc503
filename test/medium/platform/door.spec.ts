import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../../src/platform/config/config.ts';
import { Database } from '../../../src/platform/db/database.ts';
import type { Errand } from '../../../src/platform/db/door.ts';
import type { Transaction } from '../../../src/platform/db/transaction.ts';
import type { Fault } from '../../../src/platform/faults/faults.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

const WAIT_MS = 500;

let suite: SuiteDatabase;
let database: Database;
beforeAll(async () => {
  suite = await createSuiteDatabase();
  const waits = { SIGNALBOX_TURN_WAIT_SECONDS: String(WAIT_MS / 1_000), SIGNALBOX_WAITING_PER_ACCOUNT: '20' };
  database = new Database(suite.url, readConfig(waits));
});
afterAll(async () => {
  await database.close();
  await suite.drop();
});

/** Begins as many transactions as are let in, and holds them. */
async function hold(account: string, errand: Errand, wanted: number): Promise<Transaction[]> {
  const held: Transaction[] = [];
  for (let index = 0; index < wanted; index += 1) held.push(await database.begin(account, 'read', errand));
  return held;
}

async function giveBack(held: readonly Transaction[]): Promise<void> {
  await Promise.all(held.map((transaction) => transaction.rollback()));
}

const failure = (promise: Promise<unknown>): Promise<Fault> =>
  promise.then(
    () => {
      throw new Error('it went well');
    },
    (error: Fault) => error,
  );

describe('a turn at the database', () => {
  it('is there at once for another account, however many transactions one account holds and waits for', async () => {
    const held = await hold('flood', 'work', 8);
    const waiting = Array.from({ length: 20 }, () => database.asAccount('flood', async () => {}, 'read', 'call'));
    const beganAt = performance.now();
    await database.asAccount('other', async () => {}, 'read', 'call');
    expect(performance.now() - beganAt).toBeLessThan(WAIT_MS / 2);
    await giveBack(held);
    await Promise.all(waiting);
  });

  it('of a worker’s claim or report is not kept back by evidence or lists of the same account', async () => {
    const held = await hold('flood', 'ingest', 2);
    const waiting = Array.from({ length: 20 }, () => database.asAccount('flood', async () => {}, 'read', 'ingest'));
    await database.asAccount('flood', async () => {}, 'write', 'work');
    await database.asAccount('flood', async () => {}, 'read', 'read');
    await giveBack(held);
    await Promise.all(waiting);
  });

  it('that does not come in time is 503, that too many wait for is 429, and both say when to come again', async () => {
    const held = await hold('flood', 'work', 8);
    const late = Array.from({ length: 20 }, () => failure(database.begin('flood', 'write', 'call')));
    const tooMany = await failure(database.begin('flood', 'write', 'call'));
    expect(tooMany).toMatchObject({ code: 'overload.account', status: 429, retryAfterSeconds: 1 });
    for (const fault of await Promise.all(late))
      expect(fault).toMatchObject({ code: 'database.busy', status: 503, retryAfterSeconds: 1 });
    await giveBack(held);
    await database.asAccount('flood', async () => {});
  });

  it('is given back however a transaction ends', async () => {
    for (let turn = 0; turn < 30; turn += 1) {
      await failure(
        database.asAccount('one', async () => {
          throw new Error('no');
        }),
      );
      await failure(database.asAccount('one', (own) => own.query({ text: 'SELECT 1 / 0', values: [] })));
      await database.asAccount('one', async () => {}, 'perhaps');
    }
    await giveBack(await hold('one', 'work', 8));
  });
});
