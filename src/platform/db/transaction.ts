import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Leave } from '../overload/fair-gate.ts';
import { isOutage } from './database-errors.ts';

/** A statement with its parameters. The text is fixed: it is prepared once per connection. */
export interface Statement {
  readonly text: string;
  readonly values: readonly unknown[];
}

/**
 * `perhaps` is for what mostly finds nothing to write (claims, sweeps): no transaction number is used up and nothing is
 * flushed then. Nobody can say what became of it when the answer to its COMMIT is lost, so it must be safe to do again.
 */
export type Mode = 'read' | 'write' | 'perhaps';

/** The connection broke while COMMIT was under way, and the database cannot say what became of it. */
export class OutcomeUnknown extends Error {}

const BEGIN: Readonly<Record<Mode, string>> = { read: 'BEGIN READ ONLY', write: 'BEGIN', perhaps: 'BEGIN' };
/** A writer learns its transaction's number before it commits: with it the database can say later whether it did. */
const NUMBER: Readonly<Record<Mode, string>> = {
  read: '',
  write: '; SELECT pg_current_xact_id()::text AS xid',
  perhaps: '',
};

/** What is set until the end of a transaction: names of PostgreSQL's and their values. */
type Settings = Readonly<Record<string, string>>;

/** Everything that comes before the first statement, as one message: each message costs both sides some 20 µs of CPU. */
function beginning(mode: Mode, settings: Settings): string {
  const set = Object.entries(settings).map(([name, value]) => `; SET LOCAL ${name} = ${pg.escapeLiteral(value)}`);
  return `${BEGIN[mode]}${set.join('')}${NUMBER[mode]}`;
}

const ASK_AFTER_MS = [0, 100, 300, 600, 1_000, 2_000];

const current = new AsyncLocalStorage<Transaction>();

/** The transaction around the caller. */
export function currentTransaction(): Transaction {
  const transaction = current.getStore();
  if (!transaction?.isOpen) throw new Error('There is no transaction here: it is over, or the operation declares none');
  return transaction;
}

/** A second connection for one call would let calls wait for each other in the pool. */
export function refuseSecondTransaction(): void {
  if (current.getStore()?.isOpen) throw new Error('There is a transaction here already');
}

/** One transaction on one client. pg's pipeline sends statements on without waiting for the answers before them. */
export class Transaction {
  /** The transaction's number, of a writer. */
  private readonly entered: Promise<string | undefined>;
  private open = true;
  private readonly pool: pg.Pool;
  private readonly client: pg.PoolClient;
  private readonly mode: Mode;
  private readonly leave: Leave | undefined;

  private constructor(pool: pg.Pool, client: pg.PoolClient, mode: Mode, settings: Settings, leave: Leave | undefined) {
    this.pool = pool;
    this.client = client;
    this.mode = mode;
    this.leave = leave;
    this.entered = client.query<{ xid?: string }>(beginning(mode, settings)).then(numberIn);
    this.entered.catch(() => {}); // COMMIT asks for it
  }

  /**
   * Begins, with `settings` in force until the end. Does not wait for the answer: the first statement travels with it. `leave` is
   * called once the client is given back.
   */
  static async begin(pool: pg.Pool, mode: Mode, settings: Settings, leave?: Leave): Promise<Transaction> {
    try {
      return new Transaction(pool, await pool.connect(), mode, settings, leave);
    } catch (error) {
      leave?.();
      throw error;
    }
  }

  get isOpen(): boolean {
    return this.open;
  }

  /** Makes this the transaction of everything that `work` calls, Prisma included. */
  around<T>(work: () => Promise<T>): Promise<T> {
    return current.run(this, async () => await work()); // the await is inside: Prisma's promises are lazy
  }

  async query<Row extends pg.QueryResultRow>(statement: Statement): Promise<Row[]> {
    return (await this.client.query<Row>(prepared(statement))).rows;
  }

  /** Calls `take` with each row as it comes. What `take` throws is thrown once all rows have come: the client is in use until then. */
  each<Row extends pg.QueryResultRow>(statement: Statement, take: (row: Row) => void): Promise<void> {
    const query = new pg.Query<Row>(prepared(statement));
    let failure: unknown;
    query.on('row', (row) => {
      if (failure !== undefined) return;
      try {
        take(row);
      } catch (error) {
        failure = error ?? new Error('nothing was thrown'); // thrown here, it would reach nobody
      }
    });
    return new Promise((resolve, reject) => {
      query.on('end', () => (failure === undefined ? resolve() : reject(asError(failure))));
      query.on('error', reject);
      this.client.query(query);
    });
  }

  /** For Prisma's adapter, which has its own ideas about rows and types. */
  send(query: pg.QueryConfig): Promise<pg.QueryResult> {
    return this.client.query(query);
  }

  /** Sends the last statements and COMMIT together. Returns only when it is certain that all of it is kept. */
  async commit(last: readonly Statement[] = []): Promise<void> {
    this.open = false;
    const answers = [...last.map((statement) => this.client.query(prepared(statement))), this.client.query('COMMIT')];
    const settled = await Promise.allSettled([this.entered, ...answers]);
    const failure = settled.find((answer) => answer.status === 'rejected');
    if (failure) return this.afterFailure(failure.reason);
    this.release();
    const end = settled.at(-1) as PromiseFulfilledResult<pg.QueryResult>;
    // PostgreSQL answers COMMIT with ROLLBACK when an earlier statement failed, and calls that a success.
    if (end.value.command !== 'COMMIT')
      throw new Error('A statement failed and its error was swallowed: nothing was kept');
  }

  async rollback(): Promise<void> {
    this.open = false;
    try {
      await this.client.query('ROLLBACK');
      this.release();
    } catch (error) {
      this.release(asError(error));
    }
  }

  /** With an error, also ends the connection. */
  private release(error?: Error): void {
    this.client.release(error);
    this.leave?.();
  }

  private async afterFailure(reason: unknown): Promise<void> {
    if (!isOutage(reason)) {
      this.release();
      throw reason;
    }
    this.release(asError(reason));
    const entered = await this.entered.then(
      (xid) => ({ xid }),
      () => undefined,
    );
    if (entered && this.mode === 'perhaps')
      throw new OutcomeUnknown('The answer to a COMMIT was lost', { cause: reason });
    const xid = entered?.xid;
    if (xid === undefined) throw reason; // it never began, or it was a read: nothing can have been kept
    if (!(await hasCommitted(this.pool, xid))) throw reason;
  }
}

/** pg answers several statements in one text with a list of results, which its types do not say. */
function numberIn(answer: pg.QueryResult<{ xid?: string }>): string | undefined {
  const results: readonly pg.QueryResult<{ xid?: string }>[] = [answer].flat();
  return results.at(-1)?.rows[0]?.xid;
}

/** Asks until the database is back and the transaction has ended one way or the other. */
async function hasCommitted(pool: pg.Pool, xid: string): Promise<boolean> {
  for (const pause of ASK_AFTER_MS) {
    await sleep(pause);
    const answer = await pool
      .query<{ status: string }>('SELECT pg_xact_status($1::text::xid8) AS status', [xid])
      .catch(() => undefined);
    const status = answer?.rows[0]?.status;
    if (status === 'committed') return true;
    if (status === 'aborted') return false;
  }
  throw new OutcomeUnknown(`Nobody can say whether transaction ${xid} was committed`);
}

const STATEMENTS_MAX = 2_000;
const names = new Map<string, string>();

/** Names a statement by its text, so that each connection prepares it once. */
export function prepared({ text, values }: Statement): pg.QueryConfig {
  return { name: names.get(text) ?? nameFor(text), text, values: [...values] };
}

function nameFor(text: string): string {
  if (names.size >= STATEMENTS_MAX)
    throw new Error(`Too many different statements; is a value part of a text? ${text.slice(0, 200)}`);
  const name = `s${names.size}`;
  names.set(text, name);
  return name;
}

function asError(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}
