import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { isConflict, isOutage, violatedConstraint } from '../../../src/platform/db/database-errors.ts';
import { Database } from '../../../src/platform/db/database.ts';
import {
  OutcomeUnknown,
  currentTransaction,
  refuseSecondTransaction,
  type Transaction,
} from '../../../src/platform/db/transaction.ts';
import { DatabaseProxy } from '../../support/database-proxy.ts';
import { eventually } from '../../support/rest.ts';
import { createSuiteDatabase, type SuiteDatabase } from '../../support/suite-database.ts';

const ADD = 'INSERT INTO worker (account_id, id, agent_id, token_id) VALUES ($1, $2, $3, $4)';
const ROLE = 'SELECT current_user::text AS role, session_user::text AS login';

let suite: SuiteDatabase;
let database: Database;
beforeAll(async () => {
  suite = await createSuiteDatabase();
  database = new Database(suite.url);
});
afterAll(async () => {
  await database.close();
  await suite.drop();
});

describe('a session', () => {
  it('acts as one of the two roles, which own nothing, and cannot leave it', async () => {
    expect(await database.asAccount('a', (own) => ask(own, ROLE))).toMatchObject([{ role: 'signalbox_app' }]);
    expect(await database.asSystem('a test', (all) => ask(all, ROLE))).toMatchObject([{ role: 'signalbox_system' }]);
    await database.asAccount('a', async (own) => {
      await ask(own, 'RESET ROLE');
      expect(await ask(own, ROLE)).toMatchObject([{ role: 'signalbox_app' }]);
    });
    await expect(database.assertWalled()).resolves.toBeUndefined();
  });

  it('keeps nothing of an account once its transaction is over', async () => {
    const setting = `SELECT coalesce(current_setting('app.account', true), '') AS account, current_setting('application_name') AS name`;
    for (let turn = 0; turn < 30; turn += 1) await database.asAccount(`a${turn}`, async () => {});
    await database.asSystem('a test', async (all) => {
      expect(await ask(all, setting)).toEqual([{ account: '', name: 'system: a test' }]);
    });
    expect(await database.acrossAccounts({ text: setting, values: [] })).toEqual([{ account: '', name: 'signalbox' }]);
  });

  it('reads times in UTC, whatever the server’s own zone is', async () => {
    expect(await database.acrossAccounts({ text: `SELECT current_setting('timezone') AS zone`, values: [] })).toEqual([
      { zone: 'UTC' },
    ]);
  });
});

describe('a transaction', () => {
  it('sees the rows of its account only; system work sees all', async () => {
    await addWorker('one', 'seen');
    await addWorker('two', 'seen');
    const count = `SELECT count(*)::int AS n FROM worker WHERE id = 'seen'`;
    expect(await database.asAccount('one', (own) => ask(own, count))).toEqual([{ n: 1 }]);
    expect(await database.asAccount('three', (own) => ask(own, count))).toEqual([{ n: 0 }]);
    expect(await database.asSystem('a test', (all) => ask(all, count))).toEqual([{ n: 2 }]);
  });

  it('is one for Prisma and SQL, nested writes included, and takes all of it back', async () => {
    const seen: unknown[] = [];
    const work = database.asAccount('one', async (own) => {
      const row = (id: string) => ({ data: { accountId: 'one', id, agentId: 'agent', tokenId: 'token' } });
      await database.prisma.worker.create(row('shared'));
      seen.push(...(await ask(own, `SELECT id FROM worker WHERE id = 'shared'`)));
      await database.prisma.$transaction((nested) => nested.worker.create(row('shared-nested')));
      await expect(database.prisma.$transaction((nested) => nested.worker.create(row('shared')))).rejects.toThrow();
      seen.push(await database.prisma.worker.count({ where: { id: { startsWith: 'shared' } } }));
      throw new Error('after all that');
    });
    await expect(work).rejects.toThrow('after all that');
    expect(seen).toEqual([{ id: 'shared' }, 2]);
    expect(await workersCalled('shared%')).toBe(0);
  });

  it('is where the caller is, and nowhere else', async () => {
    await expect(database.prisma.worker.count()).rejects.toThrow('There is no transaction here');
    expect(() => currentTransaction()).toThrow('There is no transaction here');
    let late: (() => unknown) | undefined;
    await database.asAccount('one', async (own) => {
      expect(currentTransaction()).toBe(own);
      expect(() => refuseSecondTransaction()).toThrow('There is a transaction here already');
      late = currentTransaction;
    });
    expect(late).toThrow('There is no transaction here');
  });

  it('keeps nothing when somebody swallowed the error of a statement', async () => {
    const work = database.asAccount('one', async (own) => {
      await ask(own, ADD, ['one', 'swallowed', 'agent', 'token']);
      await ask(own, 'SELECT 1 / 0').catch(() => {});
    });
    await expect(work).rejects.toThrow('nothing was kept');
    expect(await workersCalled('swallowed')).toBe(0);
  });

  it('keeps nothing when the last statement, which travels with COMMIT, fails', async () => {
    await addWorker('one', 'twice');
    const transaction = await database.begin('one', 'write');
    await ask(transaction, ADD, ['one', 'with-it', 'agent', 'token']);
    const failure = await transaction
      .commit([{ text: ADD, values: ['one', 'twice', 'agent', 'token'] }])
      .catch((error: unknown) => error);
    expect(violatedConstraint(failure)).toBe('worker_pkey');
    expect(isOutage(failure) || isConflict(failure)).toBe(false);
    expect(await workersCalled('with-it')).toBe(0);
  });

  it('that perhaps writes uses up no number until it does', async () => {
    const number = 'SELECT pg_current_xact_id_if_assigned()::text AS number';
    await database.asAccount(
      'one',
      async (own) => {
        expect(await ask(own, number)).toEqual([{ number: null }]);
        await ask(own, ADD, ['one', 'perhaps', 'agent', 'token']);
        expect(await ask(own, number)).toEqual([{ number: expect.stringMatching(/^\d+$/) }]);
      },
      'perhaps',
    );
    expect(await workersCalled('perhaps')).toBe(1);
  });

  it('that only reads cannot write', async () => {
    const work = database.asAccount('one', (own) => ask(own, ADD, ['one', 'read-only', 'agent', 'token']), 'read');
    await expect(work).rejects.toThrow('read-only transaction');
  });

  it('goes back to the pool whole, whatever happened in it', async () => {
    for (let turn = 0; turn < 25; turn += 1) {
      await expect(database.asAccount('one', (own) => ask(own, 'SELECT no_such_column'))).rejects.toThrow(
        'no_such_column',
      );
      await expect(database.asAccount('one', async () => Promise.reject(new Error('on purpose')))).rejects.toThrow(
        'on purpose',
      );
    }
    expect(await database.asAccount('one', (own) => ask(own, 'SELECT 1 AS one'))).toEqual([{ one: 1 }]);
  });

  it('may be many at once, more than there are connections', async () => {
    const ids = Array.from({ length: 60 }, (_, index) => `many-${index}`);
    await Promise.all(ids.map((id) => addWorker('one', id)));
    expect(await workersCalled('many-%')).toBe(60);
  });
});

describe('a statement', () => {
  it('is prepared once a connection, also when it is sent again before the first answer', async () => {
    await database.asAccount('one', async (own) => {
      const text = 'SELECT $1::int AS n';
      const answers = await Promise.all([1, 2, 3].map((n) => ask(own, text, [n])));
      expect(answers.flat()).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
      expect(
        await ask(own, 'SELECT count(*)::int AS n FROM pg_prepared_statements WHERE statement = $1', [text]),
      ).toEqual([{ n: 1 }]);
    });
  });

  it('gives its rows one by one, and what their taker throws is thrown when all have come', async () => {
    const statement = { text: 'SELECT g FROM generate_series(1, $1::int) AS g ORDER BY g', values: [1_000] };
    await database.asAccount('one', async (own) => {
      const taken: number[] = [];
      await own.each<{ g: number }>(statement, ({ g }) => void taken.push(g));
      expect([taken.length, taken[0], taken.at(-1)]).toEqual([1_000, 1, 1_000]);
      const tooMany = ({ g }: { g: number }): void => {
        if (g === 3) throw new Error('no more than two');
      };
      await expect(own.each<{ g: number }>(statement, tooMany)).rejects.toThrow('no more than two');
      expect(await ask(own, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    });
    const failing = database.asAccount('one', (own) => own.each({ text: 'SELECT 1 / 0 AS g', values: [] }, () => {}));
    await expect(failing).rejects.toThrow('division by zero');
  });

  it('that could not be prepared in a failed transaction works in the next one', async () => {
    const text = `SELECT 'prepared late' AS said`;
    for (let turn = 0; turn < 25; turn += 1) {
      const failing = database.asAccount('one', async (own) => {
        const all = await Promise.allSettled([ask(own, 'SELECT 1 / 0'), ask(own, text), ask(own, text)]);
        expect(all.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
      });
      await expect(failing).rejects.toThrow('nothing was kept');
      expect(await database.asAccount('one', (own) => ask(own, text))).toEqual([{ said: 'prepared late' }]);
    }
  });
});

describe('when the connection breaks', () => {
  let proxy: DatabaseProxy;
  let through: Database;
  beforeEach(async () => {
    const between = await DatabaseProxy.before(suite.url);
    proxy = between.proxy;
    through = new Database(between.url);
  });
  afterEach(async () => {
    await proxy.close();
    await through.close();
  });

  it('after COMMIT was heard, the transaction counts as kept', async () => {
    proxy.loseNextCommit('after');
    await through.asAccount('one', (own) => ask(own, ADD, ['one', 'heard', 'agent', 'token']));
    expect(await workersCalled('heard')).toBe(1);
  });

  it('before COMMIT was heard, the failure is an outage and nothing is kept', async () => {
    proxy.loseNextCommit('before');
    const failure = await failureOf(
      through.asAccount('one', (own) => ask(own, ADD, ['one', 'unheard', 'agent', 'token'])),
    );
    expect(isOutage(failure)).toBe(true);
    expect(await workersCalled('unheard')).toBe(0);
  });

  it('at COMMIT of one that perhaps wrote, nobody claims to know', async () => {
    for (const lost of ['before', 'after'] as const) {
      proxy.loseNextCommit(lost);
      const work = through.asAccount(
        'one',
        (own) => ask(own, ADD, ['one', `perhaps-${lost}`, 'agent', 'token']),
        'perhaps',
      );
      expect(await failureOf(work)).toBeInstanceOf(OutcomeUnknown);
    }
    expect([await workersCalled('perhaps-before'), await workersCalled('perhaps-after')]).toEqual([0, 1]);
  });

  it('at COMMIT and the database stays away, nobody claims to know', async () => {
    const work = through.asAccount('one', async (own) => {
      await ask(own, ADD, ['one', 'nobody-knows', 'agent', 'token']);
      proxy.fate = () => {
        setTimeout(() => void proxy.close(), 0); // once it has been passed on
        return 'after';
      };
    });
    expect(await failureOf(work)).toBeInstanceOf(OutcomeUnknown);
    await eventually(async () => expect(await workersCalled('nobody-knows')).toBe(1)); // it commits while nobody listens
  });

  it('in the middle, it is an outage by SQL, row by row and by Prisma, and the next transaction works', async () => {
    for (const next of [
      (own: Transaction) => ask(own, 'SELECT 1 AS one'),
      async () => [{ count: await through.prisma.worker.count() }],
      async (own: Transaction) => {
        const rows: object[] = [];
        await own.each({ text: 'SELECT 1 AS one', values: [] }, (row) => void rows.push(row));
        return rows;
      },
    ]) {
      const work = through.asAccount('one', async (own) => {
        const [session] = await ask<{ pid: number }>(own, 'SELECT pg_backend_pid() AS pid');
        await suite.query('SELECT pg_terminate_backend($1)', [session?.pid]);
        return next(own);
      });
      expect(isOutage(await failureOf(work))).toBe(true);
      await expect(through.asAccount('one', next)).resolves.toHaveLength(1);
    }
  });

  it('before there is any, it is an outage', async () => {
    await proxy.close();
    expect(isOutage(await failureOf(through.asAccount('one', async () => {})))).toBe(true);
    expect(isOutage(await failureOf(through.acrossAccounts({ text: 'SELECT 1', values: [] })))).toBe(true);
  });
});

it('two accounts may use one id', async () => {
  await Promise.all(['one', 'two'].map((account) => addWorker(account, 'same')));
  expect(await workersCalled('same')).toBe(2);
});

function ask<Row extends pg.QueryResultRow>(
  transaction: Transaction,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  return transaction.query<Row>({ text, values });
}

async function addWorker(account: string, id: string): Promise<void> {
  await database.asAccount(account, (own) => ask(own, ADD, [account, id, 'agent', 'token']));
}

async function workersCalled(pattern: string): Promise<number> {
  return (await suite.query('SELECT 1 FROM worker WHERE id LIKE $1', [pattern])).length;
}

async function failureOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => Promise.reject(new Error('It succeeded')),
    (error: unknown) => error,
  );
}
