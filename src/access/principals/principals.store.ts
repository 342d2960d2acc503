import { writeJson } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

type Rows = Pick<OpContext, 'actor' | 'sql'>;

export type PrincipalKind = 'person' | 'service_account' | 'agent';

export interface PrincipalRow {
  readonly id: string;
  readonly kind: PrincipalKind;
  readonly name: string;
  readonly email: string | null;
  readonly fullName: string | null;
  readonly attributes: Readonly<Record<string, string>>;
  /** In the order in which they were given. */
  readonly roleIds: readonly string[];
}

const SELECT = `
  SELECT p.id, p.kind, p.name, p.email, p.full_name AS "fullName", p.attributes,
         ARRAY(SELECT r.role_id FROM principal_role r WHERE r.account_id = p.account_id AND r.principal_id = p.id
                ORDER BY r.created_at, r.role_id) AS "roleIds"
    FROM principal p
   WHERE p.account_id = $1 AND p.status = 'active'`;
const LIST = `${SELECT} AND p.kind = ANY ($2) ORDER BY p.created_at, p.id`;
const FIND = `${SELECT} AND p.kind = $2 AND (p.id = $3 OR (p.kind = 'agent' AND p.name = $3)) ORDER BY (p.id = $3) DESC LIMIT 1`;
/** One change of a principal at a time: two that replace its roles must not leave the sum of both. */
const LOCK = `SELECT FROM principal WHERE account_id = $1 AND id = $2 FOR NO KEY UPDATE`;
const KNOWS = `SELECT FROM principal WHERE account_id = $1 AND id = $2 AND kind <> 'system'`;

export function listPrincipalRows({ actor, sql }: Rows, kinds: readonly PrincipalKind[]): Promise<PrincipalRow[]> {
  return sql<PrincipalRow>(LIST, [actor.accountId, kinds]);
}

/** An agent by its id or handle. */
export async function findPrincipal(
  { actor, sql }: Rows,
  kind: PrincipalKind,
  reference: string,
): Promise<PrincipalRow | undefined> {
  return (await sql<PrincipalRow>(FIND, [actor.accountId, kind, reference]))[0];
}

export async function lockPrincipal({ actor, sql }: Rows, id: string): Promise<void> {
  await sql(LOCK, [actor.accountId, id]);
}

export async function isPrincipal({ actor, sql }: Rows, id: string): Promise<boolean> {
  return (await sql(KNOWS, [actor.accountId, id])).length > 0;
}

const SET_ATTRIBUTES = 'UPDATE principal SET attributes = $3::jsonb WHERE account_id = $1 AND id = $2';

export async function setAttributes({ actor, sql }: Rows, id: string, attributes: object): Promise<void> {
  await sql(SET_ATTRIBUTES, [actor.accountId, id, writeJson(attributes)]);
}
