import type { OpContext } from '../../platform/operation/operation.ts';

/** The two names of an agent, or of what will be one when its worker registers. */
export interface Named {
  readonly handle: string;
  readonly agentId: string;
}

export interface NewToken extends Named {
  readonly id: string;
  readonly secretHash: Uint8Array;
  readonly isRotation: boolean;
  readonly ttlSeconds: number | null;
}

export interface TokenRow {
  /** Of the first token in an unbroken line of rotations. */
  readonly createdAt: Date;
  readonly rotatedAt: Date | null;
  readonly expiresAt: Date | null;
  readonly isExpired: boolean;
}

export interface TokenOfAgentRow extends TokenRow {
  readonly handle: string;
  readonly agentId: string | null;
  readonly agentName: string | null;
  readonly agentStatus: 'online' | 'offline' | 'draft' | 'unregistered';
  readonly isArchived: boolean;
}

/** Two rotations of a handle that has no token yet would reserve two ids; making tokens is rare, so the account waits. */
const LOCK = `SELECT pg_advisory_xact_lock(hashtextextended('worker tokens ' || $1, 0))`;
/** An agent's id goes before a handle, and an agent before an id that is only reserved. */
const RESOLVE = `
  WITH named AS (
    SELECT handle, id AS agent_id, CASE WHEN id = $2 THEN 0 ELSE 1 END AS rank, created_at
      FROM agent_directory WHERE account_id = $1 AND (id = $2 OR handle = $2)
    UNION ALL
    SELECT handle, agent_id, CASE WHEN agent_id = $2 THEN 2 ELSE 3 END, created_at
      FROM worker_token WHERE account_id = $1 AND (agent_id = $2 OR handle = $2))
  SELECT handle, agent_id AS "agentId" FROM named ORDER BY rank, created_at DESC LIMIT 1`;
const REVOKE = `
  UPDATE worker_token SET revoked_at = now() WHERE account_id = $1 AND handle = $2 AND revoked_at IS NULL
  RETURNING id, agent_id AS "agentId"`;
const INSERT = `
  INSERT INTO worker_token (account_id, id, handle, agent_id, secret_hash, created_by, rotated, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, now() + make_interval(secs => $8::int))
  RETURNING expires_at AS "expiresAt"`;

/** An agent is a principal from its first token on: what its tokens may do beside its work is granted to it like to anybody. */
const ADD_PRINCIPAL = `
  INSERT INTO principal (account_id, id, kind, name) VALUES ($1, $2, 'agent', $3) ON CONFLICT DO NOTHING`;

const VALIDITY = `
  (SELECT max(f.created_at) FROM worker_token f
    WHERE f.account_id = t.account_id AND f.handle = t.handle AND NOT f.rotated) AS "createdAt",
  CASE WHEN t.rotated THEN t.created_at END AS "rotatedAt", t.expires_at AS "expiresAt",
  coalesce(t.expires_at <= now(), false) AS "isExpired"`;
const FIND = `
  SELECT ${VALIDITY} FROM worker_token t WHERE t.account_id = $1 AND t.handle = $2 AND t.revoked_at IS NULL`;
const LIST = `
  SELECT t.handle, d.id AS "agentId", d.name AS "agentName", d.archived_at IS NOT NULL AS "isArchived", ${VALIDITY},
         CASE WHEN d.id IS NULL THEN 'unregistered' WHEN seen.at IS NULL THEN 'draft'
              WHEN seen.is_online THEN 'online' ELSE 'offline' END AS "agentStatus"
    FROM worker_token t
    LEFT JOIN agent_directory d ON d.account_id = t.account_id AND d.handle = t.handle
    LEFT JOIN LATERAL (
      SELECT max(w.last_seen_at) AS at, bool_or(w.last_seen_at > now() - make_interval(secs => coalesce(w.window_seconds, $2))) AS is_online
        FROM worker_presence w WHERE w.account_id = t.account_id AND w.agent_id = d.id
    ) seen ON true
   WHERE t.account_id = $1 AND t.revoked_at IS NULL
   ORDER BY t.created_at, t.id`;
/** Nobody else in the account makes or takes back tokens until the transaction is over. */
export async function lockTokens(ctx: OpContext): Promise<void> {
  await ctx.sql(LOCK, [ctx.actor.accountId]);
}

/** Whom a text means: an agent's id or handle, or the handle of a token whose agent never registered. */
export async function resolveAgent(ctx: OpContext, text: string): Promise<Named | undefined> {
  const [row] = await ctx.sql<Named>(RESOLVE, [ctx.actor.accountId, text]);
  return row;
}

/** Takes back the valid token of a handle, if there is one. */
export async function revokeToken(
  ctx: OpContext,
  handle: string,
): Promise<{ id: string; agentId: string } | undefined> {
  const [row] = await ctx.sql<{ id: string; agentId: string }>(REVOKE, [ctx.actor.accountId, handle]);
  return row;
}

export async function insertToken(ctx: OpContext, token: NewToken): Promise<Date | null> {
  const { id, handle, agentId, secretHash, isRotation, ttlSeconds } = token;
  const values = [ctx.actor.accountId, id, handle, agentId, secretHash, ctx.actor.id, isRotation, ttlSeconds];
  await ctx.sql(ADD_PRINCIPAL, [ctx.actor.accountId, agentId, handle]);
  const [row] = await ctx.sql<{ expiresAt: Date | null }>(INSERT, values);
  return row?.expiresAt ?? null;
}

export async function findToken(ctx: OpContext, handle: string): Promise<TokenRow | undefined> {
  const [row] = await ctx.sql<TokenRow>(FIND, [ctx.actor.accountId, handle]);
  return row;
}

export function listTokens(ctx: OpContext, windowSeconds: number): Promise<TokenOfAgentRow[]> {
  return ctx.sql<TokenOfAgentRow>(LIST, [ctx.actor.accountId, windowSeconds]);
}
