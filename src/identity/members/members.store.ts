import type { OpContext } from '../../platform/operation/operation.ts';

type Rows = Pick<OpContext, 'actor' | 'sql'>;

export interface MemberRow {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  /** As the invitation gave it. */
  readonly fullName: string | null;
  /** As the provider of sign-in gave it. */
  readonly ownName: string | null;
  readonly status: string;
  readonly createdAt: Date;
  readonly lastLoginAt: Date | null;
}

const SELECT = `
  SELECT p.id, u.id AS "userId", coalesce(p.email, u.email) AS email, p.full_name AS "fullName", u.full_name AS "ownName",
         p.status, p.created_at AS "createdAt", u.last_login_at AS "lastLoginAt"
    FROM principal p JOIN person u ON u.id = p.user_id
   WHERE p.account_id = $1 AND p.kind = 'person'`;
const LIST = `${SELECT} ORDER BY p.created_at, p.id`;
const FIND = `${SELECT} AND p.id = $2`;

export function listMemberRows({ actor, sql }: Rows): Promise<MemberRow[]> {
  return sql<MemberRow>(LIST, [actor.accountId]);
}

export async function findMember({ actor, sql }: Rows, id: string): Promise<MemberRow | undefined> {
  return (await sql<MemberRow>(FIND, [actor.accountId, id]))[0];
}

const ADD_PERSON = `INSERT INTO person (id, email) VALUES ($1, $2) ON CONFLICT (lower(email)) DO NOTHING`;
const ADD = `
  INSERT INTO principal (account_id, id, kind, name, email, full_name, user_id)
  SELECT $1, $2, 'person', $3, $3, $4, u.id FROM person u WHERE lower(u.email) = lower($3)
  ON CONFLICT (account_id, user_id) DO NOTHING RETURNING id`;

export interface Invited {
  readonly id: string;
  readonly userId: string;
  readonly email: string;
  readonly fullName: string | null;
}

/** The same statements whether or not the person is known elsewhere. False if they are, or were, a member here. */
export async function addMember({ actor, sql }: Rows, invited: Invited): Promise<boolean> {
  const { id, userId, email, fullName } = invited;
  await sql(ADD_PERSON, [userId, email]);
  return (await sql(ADD, [actor.accountId, id, email, fullName])).length > 0;
}

const STATUS_BY_MAIL = `
  SELECT p.status FROM principal p JOIN person u ON u.id = p.user_id WHERE p.account_id = $1 AND lower(u.email) = lower($2)`;

export async function statusByMail({ actor, sql }: Rows, email: string): Promise<string | undefined> {
  return (await sql<{ status: string }>(STATUS_BY_MAIL, [actor.accountId, email]))[0]?.status;
}

const REMOVE = `
  UPDATE principal SET status = 'removed', removed_at = coalesce(removed_at, now())
   WHERE account_id = $1 AND id = $2 AND kind = 'person' RETURNING id`;
const REVOKE_KEYS = `
  UPDATE api_key SET revoked_at = now(), sealed = NULL, sealed_key_id = NULL
   WHERE account_id = $1 AND principal_id = $2 AND revoked_at IS NULL RETURNING id`;

/** The ids of the keys that went with the membership; undefined if there is no such member. */
export async function markRemoved({ actor, sql }: Rows, id: string): Promise<string[] | undefined> {
  if ((await sql(REMOVE, [actor.accountId, id])).length === 0) return undefined;
  return (await sql<{ id: string }>(REVOKE_KEYS, [actor.accountId, id])).map((key) => key.id);
}

const RESTORE = `
  UPDATE principal SET status = 'active', removed_at = NULL WHERE account_id = $1 AND id = $2 AND kind = 'person' RETURNING id`;

export async function markRestored({ actor, sql }: Rows, id: string): Promise<boolean> {
  return (await sql(RESTORE, [actor.accountId, id])).length > 0;
}
