import { PrismaPg } from '@prisma/adapter-pg';
import pg from 'pg';
import { PrismaClient } from '../../../generated/prisma/client.ts';
import { currentTransaction } from './transaction.ts';

/** One Prisma client for the process. Every statement goes to the client of the transaction around the caller. */
export function openBoundPrisma(): PrismaClient {
  return new PrismaClient({ adapter: new PrismaPg(new BoundPool(), { onPoolError: () => {} }) });
}

/** A pool that connects to nothing. It is a `pg.Pool` only because the adapter asks with `instanceof`. */
class BoundPool extends pg.Pool {
  override readonly query = ((query: pg.QueryConfig) => currentTransaction().send(query)) as pg.Pool['query'];
  /** Prisma asks for a connection of its own for nested writes: it gets a savepoint in the same transaction. */
  override readonly connect = (async () => new Nested()) as unknown as pg.Pool['connect'];

  override async end(): Promise<void> {}
}

const SAVEPOINT: Readonly<Record<string, string>> = {
  BEGIN: 'SAVEPOINT nested',
  COMMIT: 'RELEASE SAVEPOINT nested',
  ROLLBACK: 'ROLLBACK TO SAVEPOINT nested; RELEASE SAVEPOINT nested',
};

/** What the adapter uses of a `pg.PoolClient`. Savepoints of one name nest: the newest is meant. */
class Nested {
  query(query: pg.QueryConfig): Promise<pg.QueryResult> {
    const savepoint = SAVEPOINT[query.text];
    return currentTransaction().send(savepoint === undefined ? query : { text: savepoint });
  }
  on(): void {}
  removeListener(): void {}
  release(): void {}
}
