import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { SERVER_URL_VARIABLE, TEMPLATE_DATABASE } from './test-server.ts';

export interface SuiteDatabase {
  readonly url: string;
  /** Runs SQL on it, for arranging and asserting what no operation shows. */
  query<Row extends pg.QueryResultRow>(sql: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Also ends whatever is still connected. */
  drop(): Promise<void>;
}

/** Gives a spec file a database of its own: a copy of the migrated template (20 to 60 ms), or an empty one. */
export async function createSuiteDatabase(template: 'migrated' | 'empty' = 'migrated'): Promise<SuiteDatabase> {
  const name = `suite_${randomUUID().replaceAll('-', '')}`;
  await onServer(`CREATE DATABASE ${name} TEMPLATE ${template === 'migrated' ? TEMPLATE_DATABASE : 'template0'}`);
  const url = Object.assign(new URL(serverUrl()), { pathname: `/${name}` }).toString();
  const pool = new pg.Pool({ connectionString: url, max: 2, options: '-c timezone=UTC' });
  pool.on('error', () => {}); // an idle client's error would end the process
  return {
    url,
    query: async <Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []) =>
      (await pool.query<Row>(sql, [...values])).rows,
    drop: async () => {
      await pool.end();
      await onServer(`DROP DATABASE ${name} WITH (FORCE)`);
    },
  };
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}

function serverUrl(): string {
  const url = process.env[SERVER_URL_VARIABLE];
  if (!url) throw new Error('jest has not run global-setup.ts');
  return url;
}
