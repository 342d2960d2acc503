import type { OpContext } from '../../platform/operation/operation.ts';
import type { SystemContext } from '../../platform/operation/system-work.ts';

type Rows = Pick<OpContext, 'actor' | 'sql'>;

export interface TrustedDomainRow {
  readonly id: string;
  readonly accountId: string;
  readonly domain: string;
  readonly createdAt: Date;
}

const COLUMNS = `id, account_id AS "accountId", domain, created_at AS "createdAt"`;
const LIST = `SELECT ${COLUMNS} FROM trusted_domain WHERE account_id = $1 ORDER BY created_at, id`;
const INSERT = `
  INSERT INTO trusted_domain (account_id, id, domain, created_by) VALUES ($1, $2, $3, $4)
  ON CONFLICT (account_id, lower(domain)) DO NOTHING RETURNING ${COLUMNS}`;
const DELETE = 'DELETE FROM trusted_domain WHERE account_id = $1 AND lower(domain) = lower($2) RETURNING id';
const MAIL = `
  SELECT u.email FROM principal p JOIN person u ON u.id = p.user_id WHERE p.account_id = $1 AND p.id = $2 AND p.kind = 'person'`;

export function listDomains({ actor, sql }: Rows): Promise<TrustedDomainRow[]> {
  return sql<TrustedDomainRow>(LIST, [actor.accountId]);
}

/** Undefined if it is there already. */
export async function insertDomain(
  { actor, sql }: Rows,
  id: string,
  domain: string,
): Promise<TrustedDomainRow | undefined> {
  return (await sql<TrustedDomainRow>(INSERT, [actor.accountId, id, domain, actor.id]))[0];
}

/** Its id; undefined if it is not there. */
export async function deleteDomain({ actor, sql }: Rows, domain: string): Promise<string | undefined> {
  return (await sql<{ id: string }>(DELETE, [actor.accountId, domain]))[0]?.id;
}

/** The address that the caller signs in with. */
export async function mailOfCaller({ actor, sql }: Rows): Promise<string | undefined> {
  return (await sql<{ email: string }>(MAIL, [actor.accountId, actor.id]))[0]?.email;
}

const TRUSTING = `
  SELECT t.account_id AS "accountId" FROM trusted_domain t JOIN account a ON a.id = t.account_id AND a.status = 'active'
   WHERE lower(t.domain) = $2 AND NOT EXISTS (SELECT FROM principal p WHERE p.account_id = t.account_id AND p.user_id = $1)
   ORDER BY t.account_id`;
const JOIN = `
  INSERT INTO principal (account_id, id, kind, name, email, user_id) VALUES ($1, $2, 'person', $3, $3, $4)
  ON CONFLICT (account_id, user_id) DO NOTHING RETURNING id`;

/** Accounts that trust the domain and do not know the person; whoever was removed from one does not come back this way. */
export async function trustingAccounts({ sql }: SystemContext, userId: string, domain: string): Promise<string[]> {
  return (await sql<{ accountId: string }>(TRUSTING, [userId, domain])).map(({ accountId }) => accountId);
}

/** False if they became a member meanwhile. */
export async function insertJoined(
  { sql }: SystemContext,
  joined: { readonly accountId: string; readonly id: string; readonly email: string; readonly userId: string },
): Promise<boolean> {
  const { accountId, id, email, userId } = joined;
  return (await sql(JOIN, [accountId, id, email, userId])).length > 0;
}
