import { countText, pickText, replaceText, type SealedTable } from '../../platform/crypto/sealed-tables.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/transaction.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { SEALED_API_KEYS } from '../../identity/index.ts';
import { SEALED_VALUES } from '../credentials/credentials.store.ts';

/** Every table of the program that holds sealed values: what is missing here is not sealed again, and its key taken for unneeded. */
export const SEALED_TABLES: readonly SealedTable[] = [SEALED_VALUES, SEALED_API_KEYS];

export interface KeyRow {
  readonly id: string;
  readonly created_at: Date;
  /** Since when it seals, or sealed; null: it is known and was never used. */
  readonly activated_at: Date | null;
  readonly amount: number;
  /** Runs go on whose tokens it may have signed, or texts wait that it sealed. */
  readonly is_awaited: boolean;
}

export interface RotationRow {
  readonly id: string;
  readonly state: 'running' | 'done' | 'failed';
  readonly from_key: string;
  readonly to_key: string;
  readonly total: number;
  readonly done: number;
  readonly started_at: Date;
  readonly finished_at: Date | null;
  readonly error: string | null;
}

type Sql = Pick<OpContext, 'sql'>;

export const ACTIVE = 'SELECT id FROM vault_key WHERE activated_at IS NOT NULL ORDER BY activated_at DESC, id LIMIT 1';
const COUNT = countText(SEALED_TABLES);
/** What waits of runs is told within a minute: too soon to be worth sealing again. */
const WAITING = 'SELECT tails_key_id FROM run_holds WHERE tails_at IS NOT NULL';
/** A key that was followed by another signed until then. */
const LIST = `
  SELECT coalesce(k.id, c.key_id) AS id, coalesce(k.created_at, now()) AS created_at, k.activated_at, coalesce(c.amount, 0) AS amount,
         EXISTS (SELECT FROM run_facts r WHERE r.status IN ('claimed', 'running') AND r.claimed_at > k.activated_at AND r.claimed_at <= (
           SELECT min(next.activated_at) FROM vault_key next WHERE next.activated_at > k.activated_at))
         OR coalesce(k.id, c.key_id) IN (${WAITING}) AS is_awaited
    FROM vault_key k FULL JOIN (${COUNT}) AS c ON c.key_id = k.id
   ORDER BY k.activated_at, created_at, id`;

export function listKeyRows(database: Database): Promise<KeyRow[]> {
  return database.acrossAccounts<KeyRow>({ text: LIST, values: [] });
}

export async function findActiveKey(database: Database): Promise<string | undefined> {
  return (await database.acrossAccounts<{ id: string }>({ text: ACTIVE, values: [] }))[0]?.id;
}

/** How many values there are under other keys than `keyId`. */
export async function countUnder(database: Database, keyId: string): Promise<number> {
  const text = `SELECT coalesce(sum(amount), 0)::int AS amount FROM (${COUNT}) AS counted WHERE key_id <> $1`;
  return (await database.acrossAccounts<{ amount: number }>({ text, values: [keyId] }))[0]?.amount ?? 0;
}

/** `$1` the keys of a ring, `$2` the one it wants to seal with. */
export const REGISTER = `
  INSERT INTO vault_key (id, activated_at)
  SELECT id, CASE WHEN id = $2 AND NOT EXISTS (SELECT FROM vault_key WHERE activated_at IS NOT NULL) THEN now() END
    FROM unnest($1::text[]) AS id
  ON CONFLICT (id) DO NOTHING`;

/** Makes keys known to the installation; the first of all is in use at once. */
export async function registerKeys(database: Database, ids: readonly string[], wanted: string): Promise<void> {
  await database.acrossAccounts({ text: REGISTER, values: [ids, wanted] });
}

/** Keys that this process has and the installation never used. */
export async function findUnused({ sql }: Sql, ids: readonly string[]): Promise<string[]> {
  const text = 'SELECT id FROM vault_key WHERE id = ANY ($1) AND activated_at IS NULL ORDER BY created_at, id';
  return (await sql<{ id: string }>(text, [ids])).map(({ id }) => id);
}

export const LOCK_KEYS = `SELECT pg_advisory_xact_lock(hashtextextended('signalbox keys', 0))`;

/** Whoever takes a key into use does so alone. */
export async function lockKeys({ sql }: Sql): Promise<void> {
  await sql(LOCK_KEYS);
}

const ROTATION = 'id, state, from_key, to_key, total, done, started_at, finished_at, error';

export async function findRotation({ sql }: Sql, id: string): Promise<RotationRow | undefined> {
  return (await sql<RotationRow>(`SELECT ${ROTATION} FROM key_rotation WHERE id = $1`, [id]))[0];
}

export async function isRotating({ sql }: Sql): Promise<boolean> {
  return (await sql(`SELECT 1 FROM key_rotation WHERE state = 'running'`)).length > 0;
}

const ACTIVATE = `
  WITH used AS (
    INSERT INTO vault_key (id, activated_at) VALUES ($3, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET activated_at = clock_timestamp() WHERE vault_key.activated_at IS NULL)
  INSERT INTO key_rotation (id, from_key, to_key, total, started_by) VALUES ($1, $2, $3, $4, $5) RETURNING ${ROTATION}`;

export interface NewRotation {
  readonly id: string;
  readonly fromKey: string;
  readonly toKey: string;
  readonly total: number;
  readonly startedBy: string;
}

/** From the commit on `toKey` seals. */
export async function activateKey(
  { sql }: Sql,
  { id, fromKey, toKey, total, startedBy }: NewRotation,
): Promise<RotationRow | undefined> {
  return (await sql<RotationRow>(ACTIVATE, [id, fromKey, toKey, total, startedBy]))[0];
}

/** A value under another key than the one that seals. */
export interface SealedRow {
  readonly sealed: Buffer;
  readonly key_id: string;
  readonly binding: string;
  readonly [keyColumn: string]: unknown;
}

const PICK = SEALED_TABLES.map(pickText);
const REPLACE = SEALED_TABLES.map(replaceText);
const ADVANCE = `UPDATE key_rotation SET done = done + $1 WHERE state = 'running' AND to_key = $2`;

/** Locks values of one table that are to be sealed again, past those that another replica has locked. */
export function pickSealed(
  system: Transaction,
  table: number,
  { active, unopenable, limit }: { active: string; unopenable: readonly string[]; limit: number },
): Promise<SealedRow[]> {
  return system.query<SealedRow>({ text: PICK[table] ?? '', values: [active, unopenable, limit] });
}

/** Puts values that were sealed again into their rows, and counts them. */
export async function replaceSealed(
  system: Transaction,
  table: number,
  active: string,
  rows: readonly { readonly row: SealedRow; readonly bytes: Buffer }[],
): Promise<void> {
  const columns = SEALED_TABLES[table]?.key ?? [];
  const lists = columns.map(([column]) => rows.map(({ row }) => row[column]));
  await system.query({ text: REPLACE[table] ?? '', values: [active, rows.map(({ bytes }) => bytes), ...lists] });
  await system.query({ text: ADVANCE, values: [rows.length, active] });
}

const FINISH = `UPDATE key_rotation SET state = $2, error = $3, finished_at = now() WHERE state = 'running' AND to_key = $1`;

/** Says that nothing is left to be sealed again, or what could not be. */
export async function finishRotation(database: Database, toKey: string, error: string | null): Promise<void> {
  const values = [toKey, error === null ? 'done' : 'failed', error];
  await database.acrossAccounts({ text: FINISH, values });
}
