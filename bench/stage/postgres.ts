import { randomBytes } from 'node:crypto';
import path from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../../src/platform/embedded-postgres/launcher.ts';
import { canReadProcesses, parentOf, usageOf, type Usage } from './processes.ts';

/** One PostgreSQL for floor and product, each in a database of its own that is dropped at the end. */
export interface BenchPostgres {
  readonly version: string;
  readonly floorUrl: string;
  readonly productUrl: string;
  /** The postmaster; null when it cannot be seen from here: on another machine, or without /proc. */
  readonly pid: number | null;
  /** Whether the postmaster is a child of this program. */
  readonly owned: boolean;
  usage(): Usage | null;
  /** Does now what PostgreSQL does within the first minutes of a database's life: both sides are measured as they go on. */
  settle(): Promise<void>;
  stop(): Promise<void>;
}

/** A gigabyte, as `min_wal_size` of the embedded PostgreSQL has it. */
const LOG_FILES = 62;

interface Server {
  readonly url: string;
  readonly owned: boolean;
  stop(): Promise<void>;
}

/** Uses `givenUrl`, or starts an embedded PostgreSQL in `directory` with the durability that users get. */
export async function openPostgres(directory: string, givenUrl: string | undefined): Promise<BenchPostgres> {
  const server =
    givenUrl === undefined ? await startOwn(directory) : { url: givenUrl, owned: false, stop: async () => {} };
  const suffix = randomBytes(4).toString('hex');
  const databases = [`signalbox_bench_${suffix}`, `signalbox_bench_floor_${suffix}`] as const;
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  for (const name of databases) await client.query(`CREATE DATABASE ${name}`);
  const pid = canReadProcesses ? await postmasterOf(client) : null;
  const { rows } = await client.query<{ version: string }>(`SELECT current_setting('server_version') AS version`);
  await client.end();
  const logUsed = server.owned ? useLog(server.url) : Promise.resolve();
  logUsed.catch(() => {}); // heard of by whoever settles
  return {
    version: `${rows[0]?.version ?? 'unknown'} (${server.owned ? 'embedded' : 'given'})`,
    productUrl: withDatabase(server.url, databases[0]),
    floorUrl: withDatabase(server.url, databases[1]),
    pid,
    owned: server.owned,
    usage: () => (pid === null ? null : usageOf(pid)),
    settle: async () => {
      await logUsed;
      await settle(databases.map((name) => withDatabase(server.url, name)));
    },
    stop: () => close(server, databases),
  };
}

/** Fills as many files of the log as are kept: from then on they are used again, instead of new ones that are made while others wait. */
async function useLog(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (let file = 0; file < LOG_FILES; file += 1) {
    await client.query(`SELECT pg_logical_emit_message(true, 'bench', 'a file of the log')`);
    await client.query('SELECT pg_switch_wal()');
  }
  await client.query('CHECKPOINT');
  await client.end();
}

async function settle(urls: readonly string[]): Promise<void> {
  for (const connectionString of urls) {
    const client = new pg.Client({ connectionString });
    await client.connect();
    await client.query('VACUUM ANALYZE');
    await client.end();
  }
}

async function startOwn(directory: string): Promise<Server> {
  const postgres = await startEmbeddedPostgres({ stateDir: path.join(directory, 'postgres'), durability: 'durable' });
  return { url: postgres.url('postgres'), owned: true, stop: () => postgres.stop() };
}

/** The parent of our backend is the postmaster, if the number means a PostgreSQL on this machine at all. */
async function postmasterOf(client: pg.Client): Promise<number | null> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const backend = parentOf(rows[0]?.pid ?? 0);
  return backend !== undefined && /^postgres/.test(backend.name) ? backend.parent : null;
}

function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}

async function close(server: Server, databases: readonly string[]): Promise<void> {
  if (!server.owned) {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    for (const name of databases) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    await client.end();
  }
  await server.stop();
}
