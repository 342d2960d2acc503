import type { Sealed } from '../../platform/crypto/key-ring.ts';
import type { SealedTable } from '../../platform/crypto/sealed-tables.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

export interface CredentialRow {
  readonly id: string;
  readonly name: string;
  readonly description: string | null;
  readonly owner: string | null;
  readonly labels: JsonObject;
  readonly status: 'active' | 'disabled';
  readonly active_version: number;
  readonly keys: string[];
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly last_replaced_at: Date | null;
  readonly last_used_at: Date | null;
  readonly sealed_key_id: string;
  readonly bound_agents: number;
}

/** The same text as `valueBinding`, in SQL. */
export const SEALED_VALUES: SealedTable = {
  table: 'credential_value',
  key: [
    ['account_id', 'text'],
    ['credential_id', 'text'],
    ['version', 'int'],
  ],
  sealed: 'sealed',
  keyId: 'sealed_key_id',
  binding: `'credential_value/' || account_id || '/' || credential_id || '/' || version`,
};

/** A value that is moved to another row or version does not open. */
export function valueBinding(accountId: string, credentialId: string, version: number): string {
  return `credential_value/${accountId}/${credentialId}/${version}`;
}

/** What a credential shows, from tables `c` and `v`. */
export const SHOWN = `
  c.id, c.name, c.description, c.owner, c.labels, c.status, c.active_version, c.keys, c.created_at, c.updated_at, c.last_replaced_at,
  c.last_used_at, v.sealed_key_id,
  (SELECT count(*)::int FROM credential_binding b WHERE b.account_id = c.account_id AND b.credential_id = c.id) AS bound_agents`;
export const WITH_VALUE = `
  credential c JOIN credential_value v ON v.account_id = c.account_id AND v.credential_id = c.id AND v.version = c.active_version`;
const SELECT = `SELECT ${SHOWN} FROM ${WITH_VALUE} WHERE c.account_id = $1`;
const LIST = `${SELECT} ORDER BY c.created_at, c.id`;
const FIND = `${SELECT} AND c.id = $2`;

export function listCredentialRows(ctx: OpContext): Promise<CredentialRow[]> {
  return ctx.sql<CredentialRow>(LIST, [ctx.actor.accountId]);
}

export async function findCredentialRow(ctx: OpContext, id: string): Promise<CredentialRow | undefined> {
  return (await ctx.sql<CredentialRow>(FIND, [ctx.actor.accountId, id]))[0];
}

const IS_NAME = 'SELECT FROM credential WHERE account_id = $1 AND name = $2';

export async function isCredentialName(ctx: OpContext, name: string): Promise<boolean> {
  return (await ctx.sql(IS_NAME, [ctx.actor.accountId, name])).length > 0;
}

const INSERT = `
  INSERT INTO credential (account_id, id, name, description, owner, labels, keys, created_by)
  VALUES ($1, $2, $3, $4, $5, $6::json, $7, $8)`;

export type NewCredential = Pick<CredentialRow, 'id' | 'name' | 'description' | 'owner' | 'labels' | 'keys'>;

export async function insertCredential(ctx: OpContext, wanted: NewCredential): Promise<void> {
  const { id, name, description, owner, labels, keys } = wanted;
  const values = [ctx.actor.accountId, id, name, description, owner, JSON.stringify(labels), keys, ctx.actor.id];
  await ctx.sql(INSERT, values);
}

/** The version before is handed out no more. */
const INSERT_VALUE = `
  WITH superseded AS (
    UPDATE credential_value SET superseded_at = now()
     WHERE account_id = $1 AND credential_id = $2 AND version < $3 AND superseded_at IS NULL)
  INSERT INTO credential_value (account_id, credential_id, version, sealed, sealed_key_id) VALUES ($1, $2, $3, $4, $5)`;

export async function insertValue(
  ctx: OpContext,
  id: string,
  version: number,
  { bytes, keyId }: Sealed,
): Promise<void> {
  await ctx.sql(INSERT_VALUE, [ctx.actor.accountId, id, version, bytes, keyId]);
}

const NEXT_VERSION = `
  UPDATE credential SET active_version = active_version + 1, keys = $3, last_replaced_at = now(), updated_at = now()
   WHERE account_id = $1 AND id = $2 RETURNING active_version AS version`;

/** The version that a new value takes. Until the end of the transaction nobody else takes one. Undefined: no such credential. */
export async function takeNextVersion(
  ctx: OpContext,
  id: string,
  keys: readonly string[],
): Promise<number | undefined> {
  return (await ctx.sql<{ version: number }>(NEXT_VERSION, [ctx.actor.accountId, id, keys]))[0]?.version;
}

const SET_METADATA = `
  UPDATE credential SET description = coalesce($3, description), owner = coalesce($4, owner), labels = coalesce($5::json, labels),
         status = coalesce($6, status), updated_at = now()
   WHERE account_id = $1 AND id = $2 RETURNING id`;

export interface MetadataChange {
  readonly description?: string | null | undefined;
  readonly owner?: string | null | undefined;
  readonly labels?: JsonObject | null | undefined;
  readonly status?: string | null | undefined;
}

/** What is left out, or null, stays. False: no such credential. */
export async function setMetadata(
  ctx: OpContext,
  id: string,
  { description = null, owner = null, labels = null, status = null }: MetadataChange,
): Promise<boolean> {
  const values = [ctx.actor.accountId, id, description, owner, labels && JSON.stringify(labels), status];
  return (await ctx.sql(SET_METADATA, values)).length > 0;
}

/** The values stay, superseded: a run may hold them. */
const REMOVE = `
  WITH unbound AS (DELETE FROM credential_binding WHERE account_id = $1 AND credential_id = $2 RETURNING 1),
  superseded AS (
    UPDATE credential_value SET superseded_at = now() WHERE account_id = $1 AND credential_id = $2 AND superseded_at IS NULL)
  DELETE FROM credential WHERE account_id = $1 AND id = $2
  RETURNING name, (SELECT count(*)::int FROM unbound) AS bound_agents`;

/** Undefined: no such credential. */
export async function removeCredential(
  ctx: OpContext,
  id: string,
): Promise<{ readonly name: string; readonly bound_agents: number } | undefined> {
  return (await ctx.sql<{ name: string; bound_agents: number }>(REMOVE, [ctx.actor.accountId, id]))[0];
}

/** A credential as grants know it. */
export const CREDENTIAL_RESOURCE = `
  SELECT id, name, labels, NULL::json AS parents FROM credential WHERE account_id = $1 AND id = $2`;
