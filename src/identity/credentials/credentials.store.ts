import type { Database } from '../../platform/db/database.ts';

/** A credential as its rows have it now. */
export interface CredentialRow {
  readonly secretHash: Uint8Array;
  readonly accountId: string;
  readonly credentialId: string;
  readonly kind: 'person' | 'service_account' | 'agent';
  /** The principal, or the agent of a worker token. */
  readonly holderId: string;
  readonly handle: string | null;
  readonly scopes: readonly string[];
  /** Taken back, or its principal is no longer active. */
  readonly isRevoked: boolean;
  readonly isAccountActive: boolean;
  /** Of a person; a key that is narrowed does not reach the installation. */
  readonly isSystemAdmin: boolean;
  readonly userId: string | null;
  /** By the database's clock; null where it never expires. */
  readonly expiresInMs: number | null;
}

const FIND = `
  SELECT k.secret_hash AS "secretHash", k.account_id AS "accountId", k.id AS "credentialId", p.kind, p.id AS "holderId", NULL AS handle, k.scopes,
         k.revoked_at IS NOT NULL OR p.status <> 'active' AS "isRevoked", a.status = 'active' AS "isAccountActive",
         coalesce(u.is_system_admin, false) AND k.scopes = '{}' AS "isSystemAdmin", u.id AS "userId",
         (extract(epoch FROM k.expires_at - now()) * 1000)::float8 AS "expiresInMs"
    FROM api_key k
    JOIN principal p ON p.account_id = k.account_id AND p.id = k.principal_id
    JOIN account a ON a.id = k.account_id
    LEFT JOIN person u ON u.id = p.user_id
   WHERE k.secret_hash = ANY ($1::bytea[])
  UNION ALL
  SELECT t.secret_hash, t.account_id, t.id, 'agent', t.agent_id, t.handle, '{}', t.revoked_at IS NOT NULL, a.status = 'active', false, NULL,
         (extract(epoch FROM t.expires_at - now()) * 1000)::float8
    FROM worker_token t JOIN account a ON a.id = t.account_id
   WHERE t.secret_hash = ANY ($1::bytea[])`;

/** Who the installation belongs to: the first person of the first account. */
const FIND_OWNER = `
  SELECT ''::bytea AS "secretHash", a.id AS "accountId", '' AS "credentialId", p.kind, p.id AS "holderId", NULL AS handle, '{}'::text[] AS scopes,
         p.status <> 'active' AS "isRevoked", a.status = 'active' AS "isAccountActive", coalesce(u.is_system_admin, false) AS "isSystemAdmin",
         u.id AS "userId", NULL AS "expiresInMs"
    FROM account a JOIN principal p ON p.account_id = a.id AND p.kind = 'person' LEFT JOIN person u ON u.id = p.user_id
   ORDER BY a.created_at, a.id, p.created_at, p.id
   LIMIT 1`;

const VALID = `
  SELECT t.id FROM worker_token t JOIN account a ON a.id = t.account_id AND a.status = 'active'
   WHERE t.id = ANY ($1) AND t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > now())
  UNION ALL
  SELECT k.id FROM api_key k
    JOIN account a ON a.id = k.account_id AND a.status = 'active'
    JOIN principal p ON p.account_id = k.account_id AND p.id = k.principal_id AND p.status = 'active'
   WHERE k.id = ANY ($1) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now())
  UNION ALL
  SELECT s.id FROM session s
    JOIN account a ON a.id = s.in_account_id AND a.status = 'active'
    JOIN principal p ON p.account_id = s.in_account_id AND p.id = s.principal_id AND p.status = 'active'
   WHERE s.id = ANY ($1) AND s.ended_at IS NULL AND s.expires_at > now() AND s.capped_at > now() AND (s.acting IS NULL OR s.acting_until > now())`;

/** Looks for secrets among API keys and worker tokens of all accounts: each says by itself whose it is. */
export async function findCredentials(
  database: Database,
  secretHashes: readonly Uint8Array[],
): Promise<readonly CredentialRow[]> {
  return database.acrossAccounts<CredentialRow>({ text: FIND, values: [secretHashes] });
}

export async function findOwner(database: Database): Promise<CredentialRow | undefined> {
  const [row] = await database.acrossAccounts<CredentialRow>({ text: FIND_OWNER, values: [] });
  return row;
}

/** Those of `ids` that open something now; over all accounts, for a replica that looks after its open streams. */
export async function findValid(database: Database, ids: readonly string[]): Promise<string[]> {
  const rows = await database.acrossAccounts<{ id: string }>({ text: VALID, values: [ids] });
  return rows.map(({ id }) => id);
}
