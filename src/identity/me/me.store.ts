import type { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/operation/actor.ts';

interface AccountRef {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly status: 'active' | 'suspended';
}

/** Whoever calls, as the rows describe them. */
export interface MeRow {
  readonly account: AccountRef | null;
  readonly principal: { readonly name: string; readonly kind: string } | null;
  readonly person: {
    readonly id: string;
    readonly email: string;
    readonly name: string | null;
    readonly picture: string | null;
    readonly subject: string | null;
  } | null;
  readonly members: readonly AccountRef[] | null;
}

const REF = `json_build_object('id', a.id, 'slug', a.slug, 'name', a.name, 'status', a.status)`;
const ME = `
  SELECT (SELECT ${REF} FROM account a WHERE a.id = $1) AS account,
         (SELECT json_build_object('name', coalesce(p.full_name, p.name), 'kind', p.kind) FROM principal p WHERE p.account_id = $1 AND p.id = $2) AS principal,
         (SELECT json_build_object('id', u.id, 'email', u.email, 'name', u.full_name, 'picture', u.picture, 'subject', u.subject)
            FROM person u WHERE u.id = $3) AS person,
         (SELECT json_agg(${REF} ORDER BY a.name, a.id) FROM principal p JOIN account a ON a.id = p.account_id
           WHERE p.user_id = $3 AND p.kind = 'person' AND p.status = 'active') AS members`;

export async function describeActor(database: Database, { accountId, id, userId }: Actor): Promise<MeRow> {
  const values = [accountId, id, userId ?? null];
  const [row] = await database.acrossAccounts<MeRow & Record<string, unknown>>({ text: ME, values });
  return row ?? { account: null, principal: null, person: null, members: null };
}
