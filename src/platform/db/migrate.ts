import { createHash, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';

interface Migration {
  readonly name: string;
  readonly sql: string;
  /** SHA-256 of the file in hex, the form Prisma stores. */
  readonly checksum: string;
}

interface LedgerRow {
  readonly name: string;
  readonly checksum: string;
  readonly finished: boolean;
}

/** The advisory lock that Prisma's own engine takes, so that the two never run at the same time. */
const PRISMA_LOCK = 72707369;
const LOCK_TIMEOUT_MS = 60_000;

const CREATE_LEDGER = `CREATE TABLE IF NOT EXISTS "_prisma_migrations" (
  "id" VARCHAR(36) PRIMARY KEY NOT NULL,
  "checksum" VARCHAR(64) NOT NULL,
  "finished_at" TIMESTAMPTZ,
  "migration_name" VARCHAR(255) NOT NULL,
  "logs" TEXT,
  "rolled_back_at" TIMESTAMPTZ,
  "started_at" TIMESTAMPTZ NOT NULL DEFAULT now(),
  "applied_steps_count" INTEGER NOT NULL DEFAULT 0
)`;

/**
 * Brings a database up to the migrations in `directory` and records it exactly as `prisma migrate deploy` does, so
 * that either tool can continue where the other stopped. Any number of processes may call it at once: one works, the
 * others wait (at most 60 s) and then find nothing to do.
 * @returns the names of the migrations applied by this call, in order.
 * @throws Error when the ledger and the files disagree, or a migration fails; nothing of a failed file remains.
 */
export async function applyMigrations(databaseUrl: string, directory: string): Promise<string[]> {
  const migrations = readMigrations(directory);
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'migrator',
    options: '-c timezone=UTC',
  });
  await client.connect();
  try {
    await takeLock(client);
    await client.query(CREATE_LEDGER);
    const pending = pendingAfter(await readLedger(client), migrations);
    for (const migration of pending) await applyOne(client, migration);
    return pending.map((migration) => migration.name);
  } finally {
    await client.end(); // also releases the lock
  }
}

function readMigrations(directory: string): Migration[] {
  const folders = fs.readdirSync(directory, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders
    .map(({ name }) => ({ name, sql: fs.readFileSync(path.join(directory, name, 'migration.sql'), 'utf8') }))
    .map(({ name, sql }) => ({ name, sql, checksum: createHash('sha256').update(sql).digest('hex') }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function takeLock(client: pg.Client): Promise<void> {
  await client.query(`SET lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await client.query('SELECT pg_advisory_lock($1)', [PRISMA_LOCK]);
  await client.query('RESET lock_timeout');
}

async function readLedger(client: pg.Client): Promise<LedgerRow[]> {
  const { rows } = await client.query<LedgerRow>(
    `SELECT migration_name AS name, checksum, finished_at IS NOT NULL AS finished
       FROM "_prisma_migrations" WHERE rolled_back_at IS NULL ORDER BY started_at`,
  );
  return rows;
}

/** Refuses every disagreement between ledger and files; each is a human's decision. */
function pendingAfter(ledger: readonly LedgerRow[], migrations: readonly Migration[]): Migration[] {
  const files = new Map(migrations.map((migration) => [migration.name, migration]));
  for (const row of ledger) {
    const file = files.get(row.name);
    if (!row.finished)
      throw new Error(`Migration ${row.name} failed earlier: repair it, then "prisma migrate resolve"`);
    if (!file) throw new Error(`The database is ahead of this build: it has ${row.name}`);
    if (file.checksum !== row.checksum) throw new Error(`Migration ${row.name} was edited after it was applied`);
  }
  const applied = new Set(ledger.map((row) => row.name));
  return migrations.filter((migration) => !applied.has(migration.name));
}

async function applyOne(client: pg.Client, migration: Migration): Promise<void> {
  const id = randomUUID();
  await client.query(`INSERT INTO "_prisma_migrations" (id, checksum, migration_name) VALUES ($1, $2, $3)`, [
    id,
    migration.checksum,
    migration.name,
  ]);
  try {
    await client.query(migration.sql); // no parameters: the simple protocol runs the whole file as one transaction
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    await client.query(`UPDATE "_prisma_migrations" SET logs = $2 WHERE id = $1`, [id, reason]);
    throw new Error(`Migration ${migration.name} failed: ${reason}`, { cause });
  }
  await client.query(`UPDATE "_prisma_migrations" SET finished_at = now(), applied_steps_count = 1 WHERE id = $1`, [
    id,
  ]);
}
