import { isNativeError } from 'node:util/types';
import { Prisma } from '../../../generated/prisma/client.ts';

/** The database cannot be reached, is full, is going down, or has no turn for us: nothing is wrong with the request. */
const OUTAGE =
  /^(08...|57P0[123]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|P1001|P1002|P1017|P2024|database\.busy|overload\.account)$/;
const OUTAGE_MESSAGE =
  /Connection terminated|timeout exceeded when trying to connect|server closed the connection|not queryable/i;
const CONFLICT = /^(40001|40P01|P2034)$/;
/** What a statement ends with at its `statement_timeout`. */
const QUERY_CANCELED = '57014';
/** Text that PostgreSQL cannot keep: NUL, or half of a surrogate pair. */
const UNSTORABLE = /^(22021|22P05)$/;

export function isOutage(error: unknown): boolean {
  return someCause(error, (one) => OUTAGE.test(codeOf(one)) || OUTAGE_MESSAGE.test(one.message));
}

/** A statement took longer than it may, and was given up with its transaction. */
export function isTimeout(error: unknown): boolean {
  return someCause(error, (one) => codeOf(one) === QUERY_CANCELED);
}

/** Two transactions wanted the same thing; the loser may try again. */
export function isConflict(error: unknown): boolean {
  return someCause(
    error,
    (one) => CONFLICT.test(codeOf(one)) || ('constraint' in one && one.constraint === 'idempotency_key_pkey'),
  );
}

export function isUnstorableText(error: unknown): boolean {
  return someCause(error, (one) => UNSTORABLE.test(codeOf(one)));
}

function someCause(error: unknown, is: (one: Error) => boolean): boolean {
  for (let one = error; isNativeError(one); one = one.cause) {
    // not instanceof: under jest, Node's errors are of another realm
    if (is(one)) return true;
    if ('errors' in one && Array.isArray(one.errors) && one.errors.some((inner) => someCause(inner, is))) return true; // IPv6, then IPv4
  }
  return false;
}

/** pg says `code`. Prisma keeps the SQLSTATE at different depths, depending on how the statement was sent. */
function codeOf(error: Error): string {
  if (error instanceof Prisma.PrismaClientKnownRequestError) return sqlStateOf(error) ?? error.code;
  return 'code' in error ? String(error.code) : '';
}

function sqlStateOf({ meta, message }: Prisma.PrismaClientKnownRequestError): string | undefined {
  const { driverAdapterError } = (meta ?? {}) as { driverAdapterError?: { cause?: { originalCode?: string } } };
  return driverAdapterError?.cause?.originalCode ?? /\bCode: `(\w{5})`/.exec(message)?.[1];
}

/** A row of that name is there already; the constraint says which. */
export function violatedConstraint(error: unknown): string | undefined {
  let found: string | undefined;
  someCause(error, (one) => {
    if (codeOf(one) === '23505') found = 'constraint' in one ? String(one.constraint) : prismaConstraint(one);
    return found !== undefined;
  });
  return found;
}

/** Prisma 7 hides it here and leaves `meta.target` empty. */
function prismaConstraint(error: Error): string {
  return JSON.stringify('meta' in error ? error.meta : {});
}
