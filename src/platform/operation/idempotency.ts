import type { Statement, Transaction } from '../db/transaction.ts';
import { IdempotencyConflict, invalid } from '../faults/faults.ts';
import { sha256OfCanonical } from '../json/json.ts';
import type { Deed } from './ports.ts';

/** A deed whose caller may send it twice. */
export interface RepeatableDeed extends Deed {
  readonly idempotencyKey: string | undefined;
  /** The parts of the input that make a call the same call: path and body. */
  readonly fingerprint: () => Buffer;
}

export interface Earlier {
  readonly answer: unknown;
  /** Set where the first call's answer came later: the memo it left. */
  readonly deferred: boolean;
}

interface AnswerRow extends Earlier {
  readonly same: boolean;
}

const FIND_ANSWER = `
  SELECT fingerprint = $5 AS same, answer, deferred FROM idempotency_key
   WHERE account_id = $1 AND principal_id = $2 AND operation = $3 AND key = $4`;
/** No ON CONFLICT: of two that ran at once, the second to commit fails here, is undone, and finds the first's answer. */
const KEEP_ANSWER = `
  INSERT INTO idempotency_key (account_id, principal_id, operation, key, fingerprint, answer, deferred)
  VALUES ($1, $2, $3, $4, $5, $6::json, $7)`;

const PRINTABLE_ASCII = /^[\x20-\x7e]{1,255}$/;

/** @throws Fault 422 for a key that is no key (contract.md C9). */
export function checkIdempotencyKey(key: string | undefined): void {
  if (key !== undefined && !PRINTABLE_ASCII.test(key)) {
    throw invalid(['headers', 'Idempotency-Key'], 'must be 1 to 255 printable ASCII characters');
  }
}

/** What the same call was answered before, if it was. @throws Fault when the key was used for another input. */
export async function answeredBefore(transaction: Transaction, deed: RepeatableDeed): Promise<Earlier | undefined> {
  const identity = identityOf(deed);
  if (!identity) return undefined;
  const [row] = await transaction.query<AnswerRow>({ text: FIND_ANSWER, values: identity });
  if (row && !row.same) throw IdempotencyConflict();
  return row;
}

/** The row that travels with COMMIT, so that the answer is kept if and only if the deed is. */
export function answerRow(deed: RepeatableDeed, answer: unknown, deferred: boolean): Statement[] {
  const identity = identityOf(deed);
  return identity ? [{ text: KEEP_ANSWER, values: [...identity, JSON.stringify(answer ?? null), deferred] }] : [];
}

/** The same for every way of writing the same JSON. */
export function fingerprintOf(parts: readonly unknown[]): Buffer {
  return sha256OfCanonical(parts);
}

/** The same for calls that are the same call by their key; undefined without one. */
export function nameOfRepeats({ op, actor, idempotencyKey }: RepeatableDeed): string | undefined {
  if (!op.idempotent || idempotencyKey === undefined) return undefined;
  return JSON.stringify([actor.accountId, actor.id, op.id, idempotencyKey]);
}

function identityOf({ op, actor, idempotencyKey, fingerprint }: RepeatableDeed): unknown[] | undefined {
  if (!op.idempotent || idempotencyKey === undefined) return undefined;
  return [actor.accountId, actor.id, op.id, idempotencyKey, fingerprint()];
}
