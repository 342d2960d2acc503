import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const ENTRY = path.join(ROOT, 'dist/src/main.js');
const START_LIMIT_MS = 60_000;
/** The product promises to be gone 10 s after SIGTERM; the rest is for a busy machine. */
const DRAIN_LIMIT_MS = 12_000;

/** What a test may choose about its server. */
export interface ServerOptions {
  /** The `databaseUrl` of a server that is already up, to be a second replica of it. Absent: an empty database of its own. */
  readonly database?: string;
  /** Further settings of the product. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What all replicas on one database share. */
interface Deployment {
  readonly key: string;
  readonly dataDirectory: string;
}

const deployments = new Map<string, Deployment>();
const alive = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of alive) child.kill('SIGKILL');
});

/** Starts the built product on a free port, with its own data directory. */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const databaseUrl = options.database ?? (await createDatabase());
  const dataDirectory = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-test-'));
  const first = deployments.get(databaseUrl);
  const keys = first && path.join(first.dataDirectory, 'keys.json');
  if (keys && fs.existsSync(keys)) fs.copyFileSync(keys, path.join(dataDirectory, 'keys.json'));
  const deployment = { key: first?.key ?? randomBytes(20).toString('hex'), dataDirectory };
  if (!first) deployments.set(databaseUrl, deployment);
  const server = new RunningServer(databaseUrl, deployment, { owner: !first, env: options.env ?? {} });
  try {
    await server.start();
    return server;
  } catch (error) {
    await server.stop().catch(() => undefined);
    throw error;
  }
}

/** One process of the product, seen from outside. */
export class RunningServer {
  readonly databaseUrl: string;
  /** The first owner's API key. */
  readonly key: string;
  /** The same over restarts. */
  url = '';
  private readonly lines: string[] = [];
  private readonly database: pg.Pool;
  private child: ChildProcess | undefined;
  private env: Readonly<Record<string, string>>;

  /** @internal Use `startServer`. */
  constructor(
    databaseUrl: string,
    private readonly deployment: Deployment,
    private readonly given: { readonly owner: boolean; readonly env: Readonly<Record<string, string>> },
  ) {
    this.databaseUrl = databaseUrl;
    this.key = deployment.key;
    this.env = given.env;
    this.database = new pg.Pool({ connectionString: databaseUrl, max: 4 });
    this.database.on('error', () => undefined); // the database goes away under idle connections at the end
  }

  /** The process id, for signals and measurements. */
  get pid(): number {
    if (this.child?.pid === undefined) throw new Error('The server is not running');
    return this.child.pid;
  }

  /** Everything the product has printed so far. */
  log(): string {
    return this.lines.join('\n');
  }

  /** Asks the database as a superuser, beside the product. */
  async query<Row extends pg.QueryResultRow>(sql: string, values: readonly unknown[] = []): Promise<Row[]> {
    return (await this.database.query<Row>(sql, [...values])).rows;
  }

  /** Sends a signal. One that ends the process is waited for. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const { child } = this;
    if (!child || hasEnded(child)) return;
    child.kill(signal);
    if (signal === 'SIGKILL' || signal === 'SIGTERM' || signal === 'SIGINT') await once(child, 'exit');
  }

  /** Ends the process as an operator does, if it still runs, and starts it again on the same port. */
  async restart(env: Readonly<Record<string, string>> = {}): Promise<void> {
    await this.drain();
    this.env = { ...this.env, ...env };
    await this.start();
  }

  /** Ends the process and takes away what it left. */
  async stop(): Promise<void> {
    try {
      await this.drain();
    } finally {
      await this.database.end();
      if (this.given.owner) await dropDatabase(this.databaseUrl);
      fs.rmSync(this.deployment.dataDirectory, { recursive: true, force: true });
    }
  }

  /** @internal Use `startServer` or `restart`. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [ENTRY], {
      cwd: ROOT,
      env: this.environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child = child;
    alive.add(child);
    child.once('exit', () => alive.delete(child));
    createInterface({ input: child.stderr }).on('line', (line) => this.lines.push(line));
    this.url = await this.listening(child);
  }

  private async listening(child: ChildProcess & { readonly stdout: NodeJS.ReadableStream }): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const limit = setTimeout(
      () => reject(new Error(`The server did not listen in time\n${this.log()}`)),
      START_LIMIT_MS,
    );
    child.once('error', reject);
    child.once('close', (code) => reject(new Error(`The server ended with ${code ?? 'a signal'}\n${this.log()}`)));
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.lines.push(line);
      const url = listeningUrl(line);
      if (url !== undefined) resolve(url);
    });
    try {
      return await promise;
    } finally {
      clearTimeout(limit);
    }
  }

  private async drain(): Promise<void> {
    const { child } = this;
    if (!child || hasEnded(child)) return;
    const ended = once(child, 'exit');
    child.kill('SIGTERM');
    const outcome = await Promise.race([ended, sleep(DRAIN_LIMIT_MS, 'late' as const, { ref: false })]);
    if (outcome !== 'late') return;
    child.kill('SIGKILL');
    await ended;
    throw new Error(`The server was still there ${DRAIN_LIMIT_MS} ms after SIGTERM\n${this.log()}`);
  }

  private environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      HOST: '127.0.0.1',
      PORT: this.url === '' ? '0' : new URL(this.url).port,
      DATABASE_URL: this.databaseUrl,
      SIGNALBOX_DATA_DIR: this.deployment.dataDirectory,
      SIGNALBOX_BOOTSTRAP_API_KEY: this.key,
      ...this.env,
    };
  }
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

function listeningUrl(line: string): string | undefined {
  if (!line.startsWith('{')) return undefined;
  const { msg, url } = JSON.parse(line) as { readonly msg?: unknown; readonly url?: unknown };
  return msg === 'listening' && typeof url === 'string' ? url.replace(/\/$/, '') : undefined;
}

async function createDatabase(): Promise<string> {
  const url = new URL(clusterUrl());
  const name = `suite_${randomBytes(6).toString('hex')}`;
  await onCluster(`CREATE DATABASE ${name}`);
  url.pathname = `/${name}`;
  return url.toString();
}

async function dropDatabase(databaseUrl: string): Promise<void> {
  deployments.delete(databaseUrl);
  await onCluster(`DROP DATABASE IF EXISTS ${new URL(databaseUrl).pathname.slice(1)} WITH (FORCE)`);
}

async function onCluster(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: clusterUrl() });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

function clusterUrl(): string {
  const url = process.env['TEST_POSTGRES_URL'];
  if (!url) throw new Error('TEST_POSTGRES_URL is not set: the test run has no PostgreSQL');
  return url;
}
