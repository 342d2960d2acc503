import type { OpContext } from '../../platform/operation/operation.ts';

type Rows = Pick<OpContext, 'actor' | 'sql'>;

export interface ServiceAccountRow {
  readonly id: string;
  readonly name: string;
  readonly status: string;
  readonly source: 'managed' | 'api_key';
  readonly createdAt: Date;
}

const COLUMNS = `id, name, status, source, created_at AS "createdAt"`;
const LIST = `SELECT ${COLUMNS} FROM principal WHERE account_id = $1 AND kind = 'service_account' ORDER BY created_at, id`;
const INSERT = `
  INSERT INTO principal (account_id, id, kind, name, source) VALUES ($1, $2, 'service_account', $3, 'managed')
  RETURNING ${COLUMNS}`;
const SET = `
  UPDATE principal SET status = $3 WHERE account_id = $1 AND id = $2 AND kind = 'service_account' RETURNING ${COLUMNS}`;

export function listRows({ actor, sql }: Rows): Promise<ServiceAccountRow[]> {
  return sql<ServiceAccountRow>(LIST, [actor.accountId]);
}

export async function insertManaged({ actor, sql }: Rows, id: string, name: string): Promise<ServiceAccountRow> {
  return (await sql<ServiceAccountRow>(INSERT, [actor.accountId, id, name]))[0] as ServiceAccountRow;
}

/** Undefined if there is none. */
export async function setStatus(
  { actor, sql }: Rows,
  id: string,
  status: 'active' | 'disabled',
): Promise<ServiceAccountRow | undefined> {
  return (await sql<ServiceAccountRow>(SET, [actor.accountId, id, status]))[0];
}
