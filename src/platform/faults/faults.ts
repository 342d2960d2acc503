import type { InputProblem } from '../json/problems.ts';

/** How a fault is meant; it decides the HTTP status, the log level and whether another try may help. */
export const FAULT_KINDS = {
  invalid: 422,
  bad_state: 400,
  unauthenticated: 401,
  refused: 403,
  not_found: 404,
  conflict: 409,
  gone: 410,
  too_large: 413,
  unsupported: 415,
  out_of_range: 416,
  headers_too_large: 431,
  limited: 429,
  unavailable: 503,
  bug: 500,
} as const;

export type FaultKind = keyof typeof FAULT_KINDS;

/** What a caller may be told beside the type's own sentence. */
export interface FaultDetails {
  /** Replaces the type's sentence. */
  readonly message?: string;
  /** For `invalid` faults: each place and reason, in the shape the REST contract promises. */
  readonly problems?: readonly InputProblem[];
  /** For the log only. */
  readonly internal?: string;
  readonly cause?: unknown;
  /** Seconds after which another try may succeed. */
  readonly retryAfterSeconds?: number;
}

/** One thing that can go wrong. The code is the contract; operations list the types they may raise. */
export interface FaultType {
  (details?: FaultDetails): Fault;
  readonly code: string;
  readonly kind: FaultKind;
  readonly sentence: string;
}

const catalogue = new Map<string, FaultType>();

/**
 * Declares a fault. `code` is `<room or area>.<reason>`, unique in the program.
 * @throws Error when two declarations share a code.
 */
export function fault(code: string, kind: FaultKind, sentence: string): FaultType {
  if (catalogue.has(code)) throw new Error(`Two faults are called ${code}`);
  const type: FaultType = Object.assign((details: FaultDetails = {}) => new Fault(type, details), {
    code,
    kind,
    sentence,
  });
  catalogue.set(code, type);
  return type;
}

/** Every declared fault, by code: for the generated reference. */
export function declaredFaults(): readonly FaultType[] {
  return [...catalogue.values()].sort((a, b) => (a.code < b.code ? -1 : 1));
}

/** A failure that the caller may read about. Whatever else is thrown becomes `internal` and stays in the log. */
export class Fault extends Error {
  readonly type: FaultType;
  readonly problems: readonly InputProblem[];
  readonly internal: string | undefined;
  private readonly wait: number | undefined;

  constructor(type: FaultType, details: FaultDetails) {
    super(details.message ?? type.sentence, { cause: details.cause });
    this.name = 'Fault';
    this.type = type;
    this.problems = details.problems ?? [];
    this.internal = details.internal;
    this.wait = details.retryAfterSeconds;
  }

  get code(): string {
    return this.type.code;
  }

  get status(): number {
    return FAULT_KINDS[this.type.kind];
  }

  /** Always given with 429 and 503, because public clients obey it. */
  get retryAfterSeconds(): number | undefined {
    if (this.type.kind === 'unavailable' || this.type.kind === 'limited') return this.wait ?? 2;
    return undefined;
  }
}

export const InputInvalid = fault('input.invalid', 'invalid', 'The input is not acceptable');
export const InputTooLarge = fault('input.too_large', 'too_large', 'The body is too large');
export const UnsupportedType = fault('input.unsupported_type', 'unsupported', 'The body must be JSON');
export const RangeNotSatisfiable = fault('input.range', 'out_of_range', 'Nothing lies in this range');
export const HeadersTooLarge = fault('input.headers_too_large', 'headers_too_large', 'The headers are too large');
export const RouteNotFound = fault('route.not_found', 'not_found', 'There is nothing here');
export const MethodNotAllowed = fault('route.unreadable', 'bad_state', 'The request could not be read');
export const DatabaseUnavailable = fault(
  'database.unavailable',
  'unavailable',
  'The database is away; nothing was changed',
);
export const DatabaseBusy = fault(
  'database.busy',
  'unavailable',
  'The database was too busy for this; nothing was changed',
);
export const OverloadAccount = fault(
  'overload.account',
  'limited',
  'Too many calls of this account wait already; nothing was changed',
);
export const OverloadBytes = fault(
  'overload.bytes',
  'limited',
  'Too many bytes are under way already; nothing was read',
);
export const OutcomeUnclear = fault(
  'outcome.unknown',
  'unavailable',
  'This may or may not have happened: look before trying again',
);
export const Draining = fault('server.draining', 'unavailable', 'This replica is going away: try another');
export const IdempotencyConflict = fault(
  'idempotency.conflict',
  'conflict',
  'This idempotency key was used with another input',
);
export const InternalFault = fault('internal', 'bug', 'Something went wrong on our side');

/** The one 422 for what a schema cannot say: one place, one reason. */
export function invalid(loc: readonly (string | number)[], msg: string, type = 'value_error'): Fault {
  return InputInvalid({ message: msg, problems: [{ loc, msg, type }] });
}

/** For our own mistakes: ends the operation as `internal`. */
export function invariant(condition: unknown, sentence: string): asserts condition {
  if (!condition) throw new Error(`Invariant broken: ${sentence}`);
}
