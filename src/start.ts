import fs from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { StartRefused, type Config } from './platform/config/config.ts';
import { KeyRing } from './platform/crypto/key-ring.ts';
import { applyMigrations } from './platform/db/migrate.ts';
import { makePartitions } from './platform/db/partitions.ts';
import { holdKeys } from './vault/index.ts';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './platform/embedded-postgres/launcher.ts';

/** Where the migrations are, beside the compiled program and in a checkout alike. */
export const MIGRATIONS = path.resolve(
  import.meta.dirname,
  fs.existsSync(path.join(import.meta.dirname, '../prisma/migrations'))
    ? '../prisma/migrations'
    : '../../prisma/migrations',
);

/** A database that is up to date, and how to let go of it. */
export interface OpenedDatabase {
  readonly url: string;
  readonly stop: () => Promise<void>;
}

/** Makes the data directory. @throws StartRefused when it cannot be written. */
export function openDataDir({ dataDir }: Config): string {
  const directory = path.resolve(dataDir);
  try {
    makeDirectory(directory);
    fs.accessSync(directory, fs.constants.W_OK);
    return directory;
  } catch {
    throw new StartRefused(`SIGNALBOX_DATA_DIR names ${directory}, which is not a directory that can be written`);
  }
}

/** Level by level: Node's own `recursive` never returns where the system says that a parent both exists and does not. */
function makeDirectory(directory: string): void {
  if (fs.existsSync(directory)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) makeDirectory(parent);
  fs.mkdirSync(directory);
}

/** Takes the database that the configuration names, or a private one, and brings it up to date. */
export async function openDatabase(config: Config, dataDir: string): Promise<OpenedDatabase> {
  const embedded = config.databaseUrl === undefined ? await startEmbedded(dataDir) : undefined;
  const url = embedded?.url('postgres') ?? config.databaseUrl ?? '';
  const setting = embedded ? 'SIGNALBOX_DATA_DIR' : 'DATABASE_URL';
  const stop = async (): Promise<void> => embedded?.stop();
  try {
    await assertUsable(url, setting);
    await migrate(url, setting);
    return { url, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startEmbedded(dataDir: string): Promise<EmbeddedPostgres> {
  try {
    return await startEmbeddedPostgres({ stateDir: dataDir });
  } catch (cause) {
    throw new StartRefused(
      `The private PostgreSQL under SIGNALBOX_DATA_DIR did not start; set DATABASE_URL to use another: ${messageOf(cause)}`,
      { cause },
    );
  }
}

const OLDEST_POSTGRES = 18;
const VERSION_OF_SERVER = `SELECT current_setting('server_version_num')::int / 10000 AS major`;
/** Whether the login can take the two roles, or make them and then take them. */
const MAY_TAKE_ROLES = `
  SELECT quote_ident(current_user) AS login, me.rolsuper OR (
           SELECT bool_and(coalesce(pg_has_role(current_user, role.oid, 'SET, MEMBER WITH ADMIN OPTION'), me.rolcreaterole))
             FROM unnest(ARRAY['signalbox_app', 'signalbox_system']) AS name LEFT JOIN pg_roles AS role ON rolname = name) AS may
    FROM pg_roles AS me WHERE me.rolname = current_user`;

/** Looks before the first migration, because one that fails stands in the way of all later starts. */
async function assertUsable(url: string, setting: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    const [server] = (await client.query<{ major: number }>(VERSION_OF_SERVER)).rows;
    if ((server?.major ?? 0) < OLDEST_POSTGRES) {
      throw new StartRefused(
        `${setting}: PostgreSQL ${OLDEST_POSTGRES} or newer is needed, and this is ${server?.major ?? 'none'}`,
      );
    }
    const [session] = (await client.query<{ login: string; may: boolean }>(MAY_TAKE_ROLES)).rows;
    if (!session?.may) throw new StartRefused(`${setting}: ${rolesAdvice(session?.login ?? '')}`);
  } catch (cause) {
    if (cause instanceof StartRefused) throw cause;
    throw new StartRefused(`${setting}: the database cannot be reached: ${messageOf(cause)}`, { cause });
  } finally {
    await client.end().catch(() => {});
  }
}

function rolesAdvice(login: string): string {
  return `its login may neither take nor make the roles of the program's sessions. As a superuser, once:
  CREATE ROLE signalbox_app NOLOGIN; CREATE ROLE signalbox_system NOLOGIN;
  GRANT signalbox_app, signalbox_system TO ${login} WITH INHERIT FALSE, SET TRUE;`;
}

async function migrate(url: string, setting: string): Promise<void> {
  try {
    await applyMigrations(url, MIGRATIONS);
    await makePartitions(url);
  } catch (cause) {
    throw new StartRefused(`${setting}: ${messageOf(cause)}`, { cause });
  }
}

/**
 * Reads the key ring, and refuses a start that would find values which no key opens. Of replicas that start at the same time on an
 * empty database one makes the first key; the others, which do not have it, are refused.
 */
export async function openKeyRing({ keys }: Config, dataDir: string, databaseUrl: string): Promise<KeyRing> {
  const client = new pg.Client({ connectionString: databaseUrl, options: '-c role=signalbox_system' });
  await client.connect();
  try {
    return await holdKeys(client, (needed) => {
      const ring =
        keys === undefined
          ? KeyRing.load(path.join(dataDir, 'keys.json'), needed.length === 0)
          : KeyRing.parse(keys, 'SIGNALBOX_KEYS');
      const missing = ring.missing(needed);
      if (missing.length > 0)
        throw new StartRefused(
          `The database holds values that were sealed with ${missing.join(', ')}, which neither SIGNALBOX_KEYS nor keys.json has`,
        );
      return ring;
    });
  } finally {
    await client.end();
  }
}

function messageOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}
