import pg from 'pg';
import { applyMigrations } from '../../src/platform/db/migrate.ts';
import { makePartitions } from '../../src/platform/db/partitions.ts';
import { SERVER_URL_VARIABLE, TEMPLATE_DATABASE, startTestServer } from './test-server.ts';

export default async function globalSetup(): Promise<void> {
  const server = await startTestServer();
  const client = new pg.Client({ connectionString: server.url('postgres') });
  await client.connect();
  await client.query(`CREATE DATABASE ${TEMPLATE_DATABASE}`);
  await client.end();
  await applyMigrations(server.url(TEMPLATE_DATABASE), 'prisma/migrations');
  await makePartitions(server.url(TEMPLATE_DATABASE));
  process.env[SERVER_URL_VARIABLE] = server.url('postgres');
}
