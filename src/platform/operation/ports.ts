import type { Statement } from '../db/transaction.ts';
import type { Fault } from '../faults/faults.ts';
import type { Actor } from './actor.ts';
import type { Area } from './areas.ts';
import type { AuditEntry, Capability, OpContext, Operation, Scope } from './operation.ts';
import type { OperationInput } from './input.ts';

/** What a caller shows, and where it calls from. */
export interface Presented {
  readonly bearer: string | undefined;
  /** The client's address, through trusted proxies. */
  readonly address: string;
  /** Of a REST call; read only when it is asked for. */
  readonly browser?: () => Browser;
}

/** What a browser sends of its own accord, whoever made it call. */
export interface Browser {
  readonly cookies: Readonly<Record<string, string | undefined>>;
  /** Of the page that calls. */
  readonly origin: string | undefined;
  /** The origin that it calls, by its Host header and through trusted proxies. */
  readonly called: string;
  /** Path and query, as they came. */
  readonly url: string;
  readonly userAgent: string | undefined;
  /** Whether the call may change something. */
  readonly changes: boolean;
}

/** Who is calling. Provided by identity. */
export abstract class Identifier {
  /** @throws Fault 401 `auth.missing`, `auth.invalid`, `auth.expired` or `auth.revoked`. */
  abstract identify(presented: Presented): Promise<Actor>;
  /** The account that the credential was last seen to belong to, without asking anybody. Opens nothing. */
  abstract accountOf(presented: Presented): string | undefined;
}

/** How a worker's client behaves. Provided by workers. */
export abstract class ClientManners {
  /** Whether it waits before it asks again after a failure. Of a worker that nobody knows it is not to be expected. */
  abstract isPatient(accountId: string, workerId: string): boolean;
}

export type Decision = 'allow' | 'refuse' | 'hide';

/** What an actor may do altogether, for whoever shows it: nothing is decided by it. */
export interface Rights {
  readonly mode: 'off' | 'shadow' | 'enforce';
  /** Each once, whatever it is held for. */
  readonly capabilities: readonly string[];
}

/** May they. Provided by access. `hide` is for objects that the caller may not even know of. */
export abstract class Decider {
  abstract decide(actor: Actor, capability: Capability, scope: Scope): Promise<Decision>;
  /** What the actor holds on anything at all, for `/auth/me`. */
  abstract rightsOf(actor: Actor): Promise<Rights>;
  /** Whether the catalogue has the capability; the boot refuses operations that ask for another. */
  abstract knows(capability: Capability): boolean;
}

/** A kind of object that a capability can be granted for. */
export type ResourceKind = keyof Scope;

/** Where rooms say how their objects are found when somebody holds a capability for some of them only. Provided by access. */
export abstract class ResourceKinds {
  /**
   * `text` is a statement with the account's id as $1 and an id or handle as $2, run outside the wall between accounts: it must
   * say `account_id = $1` of every table. Its columns: id, name, labels (jsonb or null), parents (json: [{kind, id, name, labels}]).
   */
  abstract register(kind: ResourceKind, text: string): void;
}

export type Outcome = 'done' | 'refused' | 'failed' | 'unknown';

/** Who did what by which call: what every piece of evidence about it says. */
export interface Deed {
  readonly op: Operation;
  readonly actor: Actor;
  readonly requestId: string;
  readonly address: string;
  /** Undefined when it could not be read. */
  readonly input: OperationInput | undefined;
}

/** A refused call of somebody unknown. */
export interface StrangersAttempt {
  readonly operation: string;
  readonly area: Area;
  readonly presented: Presented;
  readonly fault: Fault;
  readonly requestId: string;
}

/** What was done. Provided by audit. */
export abstract class AuditTrail {
  /** The row that travels with the deed's COMMIT; none if its operation is unaudited. */
  abstract row(deed: Deed, outcome: Outcome, note: object): Statement | undefined;
  /** A row that the service asked for beside (or instead of) the declared one. */
  abstract furtherRow(deed: Deed, entry: AuditEntry): Statement;
  /** In a transaction of its own, since the deed's was rolled back. Never throws. */
  abstract record(deed: Deed, outcome: Outcome, note: object): Promise<void>;
  /** A mutation that was refused because nobody knows the caller: on record in the system's account, bounded in rate. */
  abstract recordStranger(attempted: StrangersAttempt): void;
}

/** Gives principals their first roles. Provided by access. */
export abstract class RoleAssigner {
  /**
   * In the caller's transaction. `loc` is where the ids stood in the input.
   * @throws Fault 422 for an unknown role, 403 `access.escalation` if the principal would then hold, or already holds,
   * more than the actor does. What the system itself assigns is not held against anything.
   */
  abstract assign(
    ctx: Pick<OpContext, 'actor' | 'sql'>,
    principalId: string,
    roleIds: readonly string[],
    loc: readonly string[],
  ): Promise<void>;

  /**
   * As `assign`, in place of the roles that the principal has; the caller has locked its row.
   * @throws Fault as `assign`, and 409 `access.last_admin`.
   */
  abstract replace(
    ctx: Pick<OpContext, 'actor' | 'sql'>,
    principalId: string,
    roleIds: readonly string[],
    loc: readonly string[],
  ): Promise<void>;

  /**
   * Last, in the transaction that may have taken the account's last administrator away: of two that take one each at the same
   * time, the second sees the first.
   * @throws Fault 409 `access.last_admin`.
   */
  abstract assertAdminLeft(ctx: Pick<OpContext, 'actor' | 'sql'>): Promise<void>;
}

/** Facts and their delivery. Provided by platform/outbox. */
export interface Fact {
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
