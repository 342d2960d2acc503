import type { OpContext } from '../../platform/operation/operation.ts';
import type { Vouched } from './login.policy.ts';

type Rows = Pick<OpContext, 'sql'>;

/** Somebody whom an address may belong to. */
export interface KnownPerson {
  readonly id: string;
  readonly isBound: boolean;
}

const BY_SUBJECT = 'SELECT id, true AS "isBound" FROM person WHERE issuer = $1 AND subject = $2 FOR UPDATE';
const BY_MAIL = 'SELECT id, issuer IS NOT NULL AS "isBound" FROM person WHERE lower(email) = lower($1) FOR UPDATE';

export async function findBySubject({ sql }: Rows, { issuer, subject }: Vouched): Promise<KnownPerson | undefined> {
  return (await sql<KnownPerson>(BY_SUBJECT, [issuer, subject]))[0];
}

export async function findByMail({ sql }: Rows, email: string): Promise<KnownPerson | undefined> {
  return (await sql<KnownPerson>(BY_MAIL, [email]))[0];
}

const INSERT = 'INSERT INTO person (id, email) VALUES ($1, $2)';

export async function insertPerson({ sql }: Rows, id: string, email: string): Promise<void> {
  await sql(INSERT, [id, email]);
}

const SIGNED_IN = `
  UPDATE person SET issuer = $2, subject = $3, full_name = coalesce($4, full_name), picture = coalesce($5, picture), last_login_at = now()
   WHERE id = $1`;

export async function noteSignIn({ sql }: Rows, id: string, vouched: Vouched): Promise<void> {
  await sql(SIGNED_IN, [id, vouched.issuer, vouched.subject, vouched.name, vouched.picture]);
}
