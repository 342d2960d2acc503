import type { OpContext } from '../../platform/operation/operation.ts';

type Rows = Pick<OpContext, 'sql'>;

export interface AccountRow {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly status: string;
}

const OPTIONS = `
  SELECT id, slug, name, status FROM account
   WHERE status = 'active' AND id <> 'acct_system' AND ($1::text IS NULL OR strpos(lower(name), lower($1)) > 0 OR strpos(slug, lower($1)) > 0)
   ORDER BY name, id LIMIT $2`;

export async function activeAccounts({ sql }: Rows, text: string | null, limit: number | null): Promise<AccountRow[]> {
  return sql<AccountRow>(OPTIONS, [text, limit]);
}

const ACCOUNT = `SELECT status FROM account WHERE id = $1 AND id <> 'acct_system'`;
const SEE_AS = `
  INSERT INTO principal (account_id, id, kind, name) VALUES ($1, 'prn_system', 'system', 'Signalbox') ON CONFLICT DO NOTHING`;
/** What looks into an account reads, and changes nothing. */
const SEE_WHAT = `
  INSERT INTO principal_role (account_id, principal_id, role_id) VALUES ($1, 'prn_system', 'role_viewer') ON CONFLICT DO NOTHING`;

/** The hidden principal that looks into an account; undefined where the account is missing or suspended. */
export async function viewerOf({ sql }: Rows, accountId: string): Promise<string | undefined> {
  const [account] = await sql<{ status: string }>(ACCOUNT, [accountId]);
  if (account?.status !== 'active') return undefined;
  await sql(SEE_AS, [accountId]);
  await sql(SEE_WHAT, [accountId]);
  return 'prn_system';
}

const TARGET = `
  SELECT p.account_id AS "accountId", p.id AS "principalId"
    FROM principal p JOIN account a ON a.id = p.account_id AND a.status = 'active'
   WHERE p.kind = 'person' AND p.status = 'active' AND ($1::text IS NULL OR p.account_id = $1)
     AND ($2::text IS NULL OR p.id = $2) AND ($3::text IS NULL OR p.user_id = $3)
   ORDER BY p.created_at, p.account_id LIMIT 1`;

/** A member whom somebody may act as. */
export async function findTarget(
  { sql }: Rows,
  accountId: string | null,
  principalId: string | null,
  userId: string | null,
): Promise<{ readonly accountId: string; readonly principalId: string } | undefined> {
  return (await sql<{ accountId: string; principalId: string }>(TARGET, [accountId, principalId, userId]))[0];
}

export interface ActingRow {
  readonly sid: string;
  readonly mode: string;
  readonly accountId: string;
  readonly accountSlug: string | null;
  readonly startedAt: Date;
  readonly actorId: string | null;
  readonly actorLabel: string | null;
  readonly impersonatorId: string | null;
  readonly impersonatorEmail: string;
}

const ACTIVE = `s.acting IS NOT NULL AND s.acting_until > now() AND s.ended_at IS NULL AND s.expires_at > now() AND s.capped_at > now()`;
const LIST = `
  SELECT s.id AS sid, s.acting AS mode, s.in_account_id AS "accountId", a.slug AS "accountSlug", s.acting_since AS "startedAt",
         s.principal_id AS "actorId", coalesce(p.email, p.name) AS "actorLabel", s.home_principal_id AS "impersonatorId", me.email AS "impersonatorEmail"
    FROM session s JOIN person me ON me.id = s.user_id
    LEFT JOIN account a ON a.id = s.in_account_id
    LEFT JOIN principal p ON p.account_id = s.in_account_id AND p.id = s.principal_id
   WHERE ${ACTIVE} ORDER BY s.acting_since DESC, s.id LIMIT 1000`;

export async function activeActing({ sql }: Rows): Promise<ActingRow[]> {
  return sql<ActingRow>(LIST);
}

const REVOKE = `
  UPDATE session s SET ended_at = now(), ended_because = 'impersonation revoked' WHERE s.id = $1 AND ${ACTIVE} RETURNING 1`;

export async function revokeActing({ sql }: Rows, sid: string): Promise<boolean> {
  return (await sql(REVOKE, [sid])).length > 0;
}
