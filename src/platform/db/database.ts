import { Inject, Injectable } from '@nestjs/common';
import type net from 'node:net';
import pg from 'pg';
import type { PrismaClient } from '../../../generated/prisma/client.ts';
import { CONFIG, readConfig } from '../config/config.ts';
import type { Deadline } from '../clock/deadline.ts';
import type { FairGate } from '../overload/fair-gate.ts';
import { Neighbours } from '../overload/neighbours.ts';
import { openBoundPrisma } from './bound-prisma.ts';
import { APP_CONNECTIONS, openDoor, type Errand, type Waits } from './door.ts';
import { assertWalled } from './session-check.ts';
import { Transaction, prepared, type Mode, type Statement } from './transaction.ts';

/** The owner's address of the database, after the migrations. */
export const DATABASE_URL = Symbol('DATABASE_URL');

const APP_ROLE = 'signalbox_app';
const SYSTEM_ROLE = 'signalbox_system';
const SYSTEM_CONNECTIONS = 4;

/** How long somebody waits for what a transaction is for. */
interface Waiting {
  /** Whether the caller has hung up. */
  readonly isGone?: (() => boolean) | undefined;
  readonly deadline?: Deadline | undefined;
}

/** The only door to the database. DATABASE_URL belongs to the owner; no session of ours acts as the owner. */
@Injectable()
export class Database {
  /** Works inside a transaction only, and then in that one. */
  readonly prisma: PrismaClient = openBoundPrisma();
  private readonly app: pg.Pool;
  private readonly system: pg.Pool;
  readonly neighbours = new Neighbours();
  private readonly door: FairGate<Errand>;

  constructor(@Inject(DATABASE_URL) connectionString: string, @Inject(CONFIG) waits: Waits = readConfig({})) {
    this.door = openDoor(waits, this.neighbours);
    this.app = openPool(connectionString, APP_ROLE, APP_CONNECTIONS);
    this.system = openPool(connectionString, SYSTEM_ROLE, SYSTEM_CONNECTIONS);
  }

  /** Refuses to serve through sessions that see past row-level security. */
  async assertWalled(): Promise<void> {
    await Promise.all([assertWalled(this.app, APP_ROLE), assertWalled(this.system, SYSTEM_ROLE)]);
  }

  /**
   * Begins a transaction that sees the rows of one account, when it is the account's turn. The runner calls this; services
   * get theirs in `ctx`. `isGone` and a deadline that is over give up the turn; the deadline also ends a statement.
   * @throws Fault 429 `overload.account` or 503 `database.busy`.
   */
  async begin(
    accountId: string,
    mode: Mode,
    errand: Errand = 'work',
    { isGone, deadline }: Waiting = {},
  ): Promise<Transaction> {
    const isOver = deadline ? () => deadline.isOver : isGone;
    const leave = await this.door.enter({ account: accountId, lane: errand, isGone: isOver });
    const limit = deadline && { statement_timeout: String(Math.max(1, Math.floor(deadline.leftMs()))) };
    return Transaction.begin(this.app, mode, { 'app.account': accountId, ...limit }, leave);
  }

  /** Begins a transaction that sees the rows of every account. Its purpose shows in `pg_stat_activity`. */
  beginSystem(purpose: string, mode: Mode): Promise<Transaction> {
    return Transaction.begin(this.system, mode, { application_name: `system: ${purpose}` });
  }

  /** Runs work that belongs to no account (a sweep, a delivery). Its purpose shows in `pg_stat_activity`. */
  async asSystem<T>(
    purpose: string,
    work: (transaction: Transaction) => Promise<T>,
    mode: Mode = 'perhaps',
  ): Promise<T> {
    const transaction = await this.beginSystem(purpose, mode);
    return complete(transaction, () => work(transaction));
  }

  /** Runs `work` in a transaction of its own, for what happens outside an operation's transaction. */
  async asAccount<T>(
    accountId: string,
    work: (transaction: Transaction) => Promise<T>,
    mode: Mode = 'write',
    errand: Errand = 'work',
    deadline?: Deadline,
  ): Promise<T> {
    const transaction = await this.begin(accountId, mode, errand, { deadline });
    return complete(transaction, () => work(transaction));
  }

  /** One statement over all accounts: for finding out whose a credential is, and for the watch over caches. */
  async acrossAccounts<Row extends pg.QueryResultRow>(statement: Statement): Promise<Row[]> {
    const { rows } = await this.system.query<Row>(prepared(statement));
    return rows;
  }

  /** Last of all, after every part of the application has ended: what drains may still write. */
  async close(): Promise<void> {
    await this.prisma.$disconnect();
    await Promise.all([this.app.end(), this.system.end()]);
  }
}

async function complete<T>(transaction: Transaction, work: () => Promise<T>): Promise<T> {
  try {
    const result = await transaction.around(work);
    await transaction.commit();
    return result;
  } catch (error) {
    if (transaction.isOpen) await transaction.rollback();
    throw error;
  }
}

/**
 * A statement is planned once a connection, often while its tables are still empty: reading such a table whole looks cheapest
 * then, and the plan stays when it has grown. All of ours have an index for what they ask.
 */
const PLANS = '-c enable_seqscan=off';

/** The role is part of the connection's start, so RESET cannot undo it. UTC, because Prisma reads times without an offset. */
function openPool(connectionString: string, role: string, max: number): pg.Pool {
  const options = `-c role=${role} -c timezone=UTC -c statement_timeout=15s -c idle_in_transaction_session_timeout=15s ${PLANS}`;
  const pool = new pg.Pool({
    connectionString,
    max,
    options,
    pipeline: true,
    keepAlive: true,
    connectionTimeoutMillis: 5_000,
    application_name: 'signalbox',
  });
  pool.on('error', () => {}); // an idle client's error would end the process
  pool.on('connect', (client) => {
    client.on('error', () => {}); // and so would a borrowed client's
    writeTogether(client);
  });
  return pool;
}

/**
 * Sends what is asked in one turn of the event loop in one packet: BEGIN, the account and the first statement; the last
 * rows and COMMIT. Each write wakes PostgreSQL, which was two fifths of our own time and as much of its.
 */
function writeTogether(client: pg.PoolClient): void {
  const { stream } = (client as unknown as { readonly connection: { readonly stream: net.Socket } }).connection;
  const write = stream.write.bind(stream) as (...parameters: unknown[]) => boolean;
  let isCorked = false;
  const uncork = (): void => {
    isCorked = false;
    stream.uncork();
  };
  stream.write = (...parameters: unknown[]): boolean => {
    if (!isCorked) {
      isCorked = true;
      stream.cork();
      process.nextTick(uncork); // runs when the promises of this turn have been heard
    }
    return write(...parameters);
  };
}
