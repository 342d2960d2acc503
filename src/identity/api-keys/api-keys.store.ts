import type { Sealed } from '../../platform/crypto/key-ring.ts';
import type { SealedTable } from '../../platform/crypto/sealed-tables.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: string[];
  readonly principalId: string;
  readonly principalKind: 'person' | 'service_account';
  readonly principalName: string;
  readonly principalEmail: string | null;
  readonly createdAt: Date;
  readonly expiresText: string | null;
  readonly lastUsedAt: Date | null;
  readonly isRevoked: boolean;
}

export interface NewKey {
  readonly id: string;
  readonly principalId: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly secretHash: Uint8Array;
  readonly sealed: Sealed;
  readonly expiresText: string | null;
  readonly expiresAt: Date | null;
}

/** What is left of a new key's clear form, and who may see it. */
export interface SealedRow {
  readonly createdBy: string;
  readonly sealed: Buffer | null;
  readonly sealedKeyId: string | null;
  readonly isFresh: boolean;
}

/** The same text as `sealedFor`, in SQL. */
export const SEALED_API_KEYS: SealedTable = {
  table: 'api_key',
  key: [
    ['account_id', 'text'],
    ['id', 'text'],
  ],
  sealed: 'sealed',
  keyId: 'sealed_key_id',
  binding: `'api_key/' || account_id || '/' || id`,
};

/** A sealed secret that is moved to another row does not open. */
export function sealedFor(accountId: string, keyId: string): string {
  return `api_key/${accountId}/${keyId}`;
}

const INSERT = `
  INSERT INTO api_key (account_id, id, principal_id, name, scopes, secret_hash, sealed, sealed_key_id, created_by,
                       expires_text, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`;
const SELECT = `
  SELECT k.id, k.name, k.scopes, k.principal_id AS "principalId", p.kind AS "principalKind", p.name AS "principalName",
         p.email AS "principalEmail", k.created_at AS "createdAt", k.expires_text AS "expiresText",
         k.last_used_at AS "lastUsedAt", k.revoked_at IS NOT NULL AS "isRevoked"
    FROM api_key k JOIN principal p ON p.account_id = k.account_id AND p.id = k.principal_id
   WHERE k.account_id = $1`;
const LIST = `${SELECT} ORDER BY k.created_at, k.id`;
const FIND = `${SELECT} AND k.id = $2`;
/** The clear form goes with the key. */
const REVOKE = `
  UPDATE api_key SET revoked_at = coalesce(revoked_at, now()), sealed = NULL, sealed_key_id = NULL
   WHERE account_id = $1 AND id = $2 RETURNING id`;
const FIND_SEALED = `
  SELECT created_by AS "createdBy", sealed, sealed_key_id AS "sealedKeyId",
         created_at > now() - make_interval(secs => $3) AS "isFresh"
    FROM api_key WHERE account_id = $1 AND id = $2`;

const INSERT_SERVICE_ACCOUNT = `
  INSERT INTO principal (account_id, id, kind, name, source) VALUES ($1, $2, 'service_account', $3, 'api_key')`;
const FIND_SERVICE_ACCOUNT = `
  SELECT id FROM principal WHERE account_id = $1 AND id = $2 AND kind = 'service_account' AND status = 'active'`;

export async function insertKey(ctx: OpContext, key: NewKey): Promise<void> {
  const { id, principalId, name, scopes, secretHash, sealed, expiresText, expiresAt } = key;
  const secret = [secretHash, sealed.bytes, sealed.keyId];
  await ctx.sql(INSERT, [
    ctx.actor.accountId,
    id,
    principalId,
    name,
    scopes,
    ...secret,
    ctx.actor.id,
    expiresText,
    expiresAt,
  ]);
}

export function listKeys(ctx: OpContext): Promise<ApiKeyRow[]> {
  return ctx.sql<ApiKeyRow>(LIST, [ctx.actor.accountId]);
}

export async function findKey(ctx: OpContext, id: string): Promise<ApiKeyRow | undefined> {
  const [row] = await ctx.sql<ApiKeyRow>(FIND, [ctx.actor.accountId, id]);
  return row;
}

/** False if there is no such key. */
export async function markRevoked(ctx: OpContext, id: string): Promise<boolean> {
  return (await ctx.sql(REVOKE, [ctx.actor.accountId, id])).length > 0;
}

export async function findSealed(ctx: OpContext, id: string, freshSeconds: number): Promise<SealedRow | undefined> {
  const [row] = await ctx.sql<SealedRow>(FIND_SEALED, [ctx.actor.accountId, id, freshSeconds]);
  return row;
}

export async function insertServiceAccount(ctx: OpContext, id: string, name: string): Promise<void> {
  await ctx.sql(INSERT_SERVICE_ACCOUNT, [ctx.actor.accountId, id, name]);
}

export async function hasServiceAccount(ctx: OpContext, id: string): Promise<boolean> {
  return (await ctx.sql(FIND_SERVICE_ACCOUNT, [ctx.actor.accountId, id])).length > 0;
}

/** A key as grants know it. */
export const API_KEY_RESOURCE = `
  SELECT id, name, NULL::jsonb AS labels, NULL::json AS parents FROM api_key WHERE account_id = $1 AND id = $2`;
