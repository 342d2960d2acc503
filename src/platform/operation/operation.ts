import type { Prisma } from '../../../generated/prisma/client.ts';
import type { FaultType } from '../faults/faults.ts';
import type { Errand } from '../db/door.ts';
import type { Mode } from '../db/transaction.ts';
import type { AlteredPlace } from '../json/json.ts';
import type { Actor } from './actor.ts';
import type { Area } from './areas.ts';
import type { FlatInput, InputParts, OperationInput } from './input.ts';
import type { Later } from './later.ts';
import type { Output, Returned } from './output.ts';
import type { Presented } from './ports.ts';

/** What an actor may be granted: `<noun>.<verb>`. */
export type Capability = `${string}.${string}`;

/** What a capability is asked about: ids by kind, as the caller named them. Empty means "the actor's own account". */
export type Scope = Readonly<
  Partial<Record<'agent' | 'run' | 'worker' | 'api_key' | 'approval' | 'credential', string>>
>;

export interface Anyone {
  readonly anyoneBecause: string;
}

export interface Unaudited {
  readonly unauditedBecause: string;
}

/** No credential is asked for. `public` would be the better word, but JavaScript reserves it. */
export const anyone = (why: string): Anyone => ({ anyoneBecause: why });

/** Only a worker token opens it, and it opens it for every agent: what the agent may touch is its own. */
export const workerToken = { onlyWorkers: true } as const;

/** Any valid credential. */
export const self = { anyCredential: true } as const;

/** A mutation that leaves no audit row, and why that is right. */
export const unaudited = (why: string): Unaudited => ({ unauditedBecause: why });

export interface AuditSpec<Input = OperationInput> {
  readonly action: string;
  /** The row that the deed is about. May read what the input names; what the service learns goes through `ctx.note`. */
  target(input: Input): readonly [kind: string, id: string];
}

/** An audit row that a service asks for by itself. */
export interface AuditEntry {
  readonly action: string;
  readonly target: readonly [kind: string, id: string];
  readonly outcome: 'done' | 'refused';
  readonly detail: Readonly<Record<string, unknown>>;
}

type Status = 200 | 201 | 202 | 204 | 302;

/** How a caller reaches it: a route in OpenAPI's form, or a type of frame on the worker's endpoint. */
interface Route<Method extends string> {
  readonly http: { readonly method: Method; readonly path: `/${string}`; readonly status: Status };
  readonly frame?: never;
}
interface FrameRoute {
  readonly http?: never;
  /**
   * `reply` is the type of the frame that answers; without one the answer is 202. `calm` is a payload that promises nothing:
   * it answers whoever would wait too long, and in place of a failure the clients that ask again at once after one.
   */
  readonly frame: { readonly type: string; readonly reply?: string; readonly calm?: Readonly<Record<string, never>> };
}
type Writing = Route<'POST' | 'PUT' | 'PATCH' | 'DELETE'> | FrameRoute;

interface Declaration<Parts extends InputParts, Declared extends Output> {
  /** `<area>.<verb>`, unique. */
  readonly id: `${Area}.${string}`;
  /** One sentence; the OpenAPI summary. */
  readonly summary: string;
  readonly capability: Capability | Anyone | typeof workerToken | typeof self;
  /** Refuses worker tokens even where the agent holds the capability. */
  readonly operatorsOnly?: true;
  /** About the installation and not about an account: only people who look after it, whatever others hold. */
  readonly systemAdminsOnly?: true;
  /**
   * Its transaction sees the rows of every account, and why it must: each of its statements says itself which it means. The
   * audit row still belongs to the actor's account.
   */
  readonly acrossAccounts?: string;
  /** Only a browser's session opens it: it is about the session itself. */
  readonly sessionsOnly?: true;
  /** Not in the contract that public clients know: shown as such in the served document. */
  readonly ours?: true;
  readonly input: Parts;
  /** What may leave. Fields that the service returns beyond this are dropped. */
  readonly output: Declared;
  readonly faults: readonly FaultType[];
  /** Which limit the body is counted against while it is read; default `body`. */
  readonly bodyLimit?: 'body' | 'run' | 'frame' | 'artifact';
  /** The answer may be large: it comes packed to callers who take gzip. */
  readonly packed?: true;
  /** The body is evidence: what cannot be stored as sent is altered and marked, never refused (contract.md C13). */
  readonly evidence?: true;
  /** Comes in floods: it gets a part of what its account may use at once, and the account's other work goes beside it. */
  readonly bulk?: true;
}

/** In one transaction: read-only, unless the read itself is put on record. */
interface Read<Input> extends Route<'GET'> {
  readonly transaction?: never;
  readonly idempotent?: never;
  readonly audit?: AuditSpec<Input>;
  scope?(input: Input): Scope;
}

/** In one transaction, with its audit row and its facts. */
type Mutation<Input> = Writing & {
  readonly transaction?: never;
  readonly audit: AuditSpec<Input> | Unaudited;
  /** Heeds the caller's Idempotency-Key. Its answer is stored as it is, so there must be no secret in it. */
  readonly idempotent?: true;
  scope?(input: Input): Scope;
};

/** For what happens thousands of times a second, and for streams: no transaction, no audit row, the answer leaves as it is. */
type Hot = ((Route<'GET'> & { readonly audit?: never }) | (Writing & { readonly audit: Unaudited })) & {
  readonly transaction: 'none';
  readonly idempotent?: never;
  readonly scope?: never; // a scope is asked about in the database
};

export type Operation<Parts extends InputParts = InputParts, Declared extends Output = Output> = Declaration<
  Parts,
  Declared
> &
  (Read<FlatInput<Parts>> | Mutation<FlatInput<Parts>> | Hot);

/** What the service gets. */
export type In<Op extends { readonly input: InputParts }> = FlatInput<Op['input']>;
/** What the service returns, at least. */
export type Out<Op extends { readonly output: Output }> = Returned<Op['output']>;

/** What a worker's frame said around its payload. */
export interface FrameEnvelope {
  readonly id: string;
  readonly stream: string | undefined;
  /** Of a reply: the id of the frame that it answers. */
  readonly correlationId: string | undefined;
  readonly seq: number | undefined;
}

/** A cookie that no script reads, and that other sites' forms do not send. */
export interface Cookie {
  readonly name: string;
  readonly value: string;
  readonly path: string;
  /** Zero clears it. */
  readonly seconds: number;
  /** Only where it travels by TLS. */
  readonly secure: boolean;
}

/** What a service may do. Without a transaction around it, `db`, `sql` and `publish` throw. */
export interface OpContext {
  readonly actor: Actor;
  /** Read once an operation. For ids and display; what several processes compare is the database's `now()`. */
  readonly now: Date;
  readonly requestId: string;
  /** What the caller showed: for operations about signing in, which no actor explains. */
  readonly presented: Presented;
  readonly traceparent: string | undefined;
  /** Of a frame only. */
  readonly frame: FrameEnvelope | undefined;
  /** The places of an evidence body where what was sent could not be kept as it was; paths begin at the body's root. */
  readonly altered: readonly AlteredPlace[];
  /** What the first call with this idempotency key left for its repeats (`later`'s memo); undefined for the first. */
  readonly repeated: unknown;
  /** Prisma, for configuration: 0.2 to 0.4 ms of CPU a statement. In the operation's transaction, as its account. */
  readonly db: Prisma.TransactionClient;
  /** SQL, for hot paths: a quarter of that. Same transaction. The text is fixed; whatever varies is a parameter. */
  sql<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** As `sql`; calls `take` with each row as it comes, and holds none. What `take` throws is thrown at the end. */
  each<Row extends object>(text: string, values: readonly unknown[], take: (row: Row) => void): Promise<void>;
  /** A short transaction of its own: for operations without one, and for what runs later. `mode` is `write` unless said. */
  briefly<Result>(work: (ctx: OpContext) => Promise<Result>, mode?: Mode): Promise<Result>;
  /** Adds to the audit row. */
  note(detail: Readonly<Record<string, unknown>>): void;
  /**
   * Puts a further audit row on record, if and only if the transaction commits: where only some calls of an operation are
   * worth one (a registration that changed something, a report that the fence refused).
   */
  record(entry: AuditEntry): void;
  /** Tells a fact to others, at least once, if and only if the transaction commits. */
  publish(topic: string, payload: Readonly<Record<string, unknown>>): void;
  /** Runs after the commit, in this process; may be lost. */
  afterCommit(poke: () => void): void;
  /** Adds a header to the answer of the REST transport. */
  header(name: string, value: string): void;
  /** Sets a cookie of the browser that called by REST, or clears it. */
  setCookie(cookie: Cookie): void;
}

export type Handler<Parts extends InputParts = InputParts, Declared extends Output = Output> = (
  ctx: OpContext,
  input: FlatInput<Parts>,
) => Promise<Returned<Declared> | Later<Returned<Declared>>>;

/** Declares an operation once; routing, OpenAPI, frames, access and audit all read the declaration. */
export function operation<Parts extends InputParts, Declared extends Output>(
  declaration: Operation<Parts, Declared>,
): Operation<Parts, Declared> {
  return declaration;
}

export function isRead(op: Operation): boolean {
  return op.http?.method === 'GET';
}

/** The audit specification of an operation that leaves rows. */
export function auditOf(op: Operation): AuditSpec | undefined {
  return op.audit && 'action' in op.audit ? op.audit : undefined;
}

/** What the transactions of an operation are, as far as their turn at the database goes. */
export function errandOf(op: Operation, actor: Actor): Errand {
  if (op.bulk) return op.frame ? 'frames' : 'ingest';
  if (actor.kind === 'agent') return 'work';
  return isRead(op) ? 'read' : 'call';
}

/** The area that an operation belongs to: the first part of its id. */
export function areaOf(op: Operation): Area {
  return op.id.slice(0, op.id.indexOf('.')) as Area;
}
