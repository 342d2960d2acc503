import type { Prisma } from '../../../generated/prisma/client.ts';
import type { Deadline } from '../clock/deadline.ts';
import type { Database } from '../db/database.ts';
import {
  currentTransaction,
  refuseSecondTransaction,
  type Mode,
  type Statement,
  type Transaction,
} from '../db/transaction.ts';
import type { AlteredPlace } from '../json/json.ts';
import { DatabaseBusy } from '../faults/faults.ts';
import { Log, describeError } from '../log/log.ts';
import { factRows } from '../outbox/outbox.ts';
import type { Actor } from './actor.ts';
import { errandOf, type AuditEntry, type Cookie, type FrameEnvelope, type OpContext } from './operation.ts';
import type { AuditTrail, Deed, Fact, Presented } from './ports.ts';

const log = new Log('operation');

/** The circumstances of a call that its handler may see. */
export interface Circumstances {
  readonly deed: Deed;
  readonly now: Date;
  readonly traceparent: string | undefined;
  readonly frame: FrameEnvelope | undefined;
  readonly altered: readonly AlteredPlace[];
  readonly headers: Map<string, string>;
  readonly cookies: Cookie[];
  readonly presented: Presented;
  /** Undefined: the caller waits for as long as it takes. */
  readonly deadline: Deadline | undefined;
}

/** One try at an operation: what it gathers besides its rows (notes, facts, pokes). A retry starts a new one, empty. */
export class Attempt implements OpContext {
  repeated: unknown = undefined;
  private readonly call: Circumstances;
  private readonly database: Database;
  private readonly trail: AuditTrail;
  private readonly entries: AuditEntry[] = [];
  private readonly notes: Record<string, unknown> = {};
  private readonly facts: Fact[] = [];
  private readonly pokes: (() => void)[] = [];

  constructor(call: Circumstances, database: Database, trail: AuditTrail) {
    this.call = call;
    this.database = database;
    this.trail = trail;
  }

  get actor(): Actor {
    return this.call.deed.actor;
  }
  get now(): Date {
    return this.call.now;
  }
  get requestId(): string {
    return this.call.deed.requestId;
  }
  get presented(): Presented {
    return this.call.presented;
  }
  get traceparent(): string | undefined {
    return this.call.traceparent;
  }
  get frame(): FrameEnvelope | undefined {
    return this.call.frame;
  }
  get altered(): readonly AlteredPlace[] {
    return this.call.altered;
  }

  get db(): Prisma.TransactionClient {
    currentTransaction(); // says so at once when there is none
    return this.database.prisma;
  }

  get noted(): object {
    return this.notes;
  }

  // Functions, not methods: services take them out of the context (`({ sql, publish }) => …`).

  readonly sql = async <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
    currentTransaction().query<Row>({ text, values });

  readonly each = async <Row extends object>(
    text: string,
    values: readonly unknown[],
    take: (row: Row) => void,
  ): Promise<void> => currentTransaction().each({ text, values }, take);

  readonly briefly = async <Result>(
    work: (ctx: OpContext) => Promise<Result>,
    mode: Mode = 'write',
  ): Promise<Result> => {
    refuseSecondTransaction();
    const inner = new Attempt(this.call, this.database, this.trail);
    const { deadline } = this.call;
    const evident = async (transaction: Transaction): Promise<Result> => {
      const worked = await work(inner);
      if (deadline?.isOver) throw DatabaseBusy(); // its caller was answered without it
      for (const statement of inner.evidence()) await transaction.query(statement);
      return worked;
    };
    const { op } = this.call.deed;
    // What runs after a commit is not refused for the number of those who wait: its caller would take it for undone.
    const errand = op.transaction === 'none' ? errandOf(op, this.actor) : 'work';
    const result = await this.database.asAccount(this.actor.accountId, evident, mode, errand, deadline);
    this.note(inner.notes);
    inner.poke();
    return result;
  };

  readonly note = (detail: Readonly<Record<string, unknown>>): void => void Object.assign(this.notes, detail);

  readonly record = (entry: AuditEntry): void => {
    currentTransaction();
    this.entries.push(entry);
  };

  readonly publish = (topic: string, payload: Readonly<Record<string, unknown>>): void => {
    currentTransaction();
    this.facts.push({ topic, payload });
  };

  readonly afterCommit = (poke: () => void): void => void this.pokes.push(poke);

  readonly header = (name: string, value: string): void => void this.call.headers.set(name, value);

  readonly setCookie = (cookie: Cookie): void => void this.call.cookies.push(cookie);

  /** Whether somebody is to be told of something. */
  get hasFacts(): boolean {
    return this.facts.length > 0;
  }

  /** The rows that travel with COMMIT: facts, and audit entries that the service asked for. */
  evidence(): Statement[] {
    const entries = this.entries.map((entry) => this.trail.furtherRow(this.call.deed, entry));
    return [...entries, ...factRows(this.actor.accountId, this.facts)];
  }

  /** Nothing that happens here can change the answer any more. */
  poke(): void {
    for (const poke of this.pokes) {
      try {
        poke();
      } catch (error) {
        log.warn('a poke failed', { operation: this.call.deed.op.id, error: describeError(error) });
      }
    }
  }
}
