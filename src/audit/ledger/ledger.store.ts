import type { Statement } from '../../platform/db/transaction.ts';
import type { Outcome } from '../../platform/operation/ports.ts';

/** One row of the audit trail before it is written. */
export interface Entry {
  readonly id: string;
  readonly accountId: string;
  readonly category: string;
  readonly action: string;
  readonly operation: string;
  readonly outcome: Outcome;
  readonly actorKind: string;
  readonly actorId: string | null;
  readonly impersonatorId: string | null;
  readonly target: readonly [kind: string, id: string];
  readonly requestId: string;
  readonly address: string | null;
  readonly detail: object;
}

const COLUMNS = `account_id, id, category, action, operation, outcome, actor_kind, actor_id, impersonator_id, target_kind, target_id,
  request_id, address, detail`;
const INSERT_ONE = `INSERT INTO audit_entry (${COLUMNS})
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14::jsonb)`;
const INSERT_MANY = `INSERT INTO audit_entry (${COLUMNS})
  SELECT ${COLUMNS} FROM jsonb_populate_recordset(NULL::audit_entry, $1::jsonb)`;

/** The row as a statement, so that it can travel with a COMMIT. */
export function entryRow(entry: Entry): Statement {
  return { text: INSERT_ONE, values: [...Object.values(columnsOf(entry)).slice(0, -1), jsonOf(entry.detail)] };
}

/** Many rows as one statement. */
export function entryRows(entries: readonly Entry[]): Statement {
  return { text: INSERT_MANY, values: [jsonOf(entries.map(columnsOf), entries.length)] };
}

/** In the order of `COLUMNS`. */
function columnsOf(entry: Entry): Record<string, unknown> {
  const [targetKind, targetId] = entry.target;
  return {
    account_id: entry.accountId,
    id: entry.id,
    category: entry.category,
    action: entry.action,
    operation: entry.operation,
    outcome: entry.outcome,
    actor_kind: entry.actorKind,
    actor_id: entry.actorId,
    impersonator_id: entry.impersonatorId,
    target_kind: targetKind,
    target_id: storable(targetId, ID_MAX),
    request_id: storable(entry.requestId),
    address: entry.address === null ? null : storable(entry.address),
    detail: entry.detail,
  };
}

const TEXT_MAX = 1_000;
/** An index entry holds 2,700 bytes; a character takes up to four. */
const ID_MAX = 500;
const LIST_MAX = 50;

/** An entry must be writable whatever a caller sent, and small: long texts and lists are cut, and show it. */
function jsonOf(value: unknown, listMax = LIST_MAX): string {
  return JSON.stringify(value, (_key, part: unknown) => {
    if (typeof part === 'string') return storable(part);
    if (!Array.isArray(part) || part.length <= listMax) return part;
    return [...part.slice(0, listMax), `… ${part.length - listMax} more`] as unknown[];
  });
}

/** PostgreSQL can keep neither NUL nor half of a surrogate pair. */
function storable(text: string, max = TEXT_MAX): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text;
  return cut.replaceAll('\0', '\uFFFD').toWellFormed();
}
