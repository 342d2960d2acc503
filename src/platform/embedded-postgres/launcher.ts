import { createHash } from 'node:crypto';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { usableBinaries, type Binaries } from './binaries.ts';
import {
  SUPERUSER,
  forgetPostmaster,
  isStale,
  makePrivate,
  openCluster,
  readPostmaster,
  type Cluster,
  type Durability,
} from './cluster.ts';
import { canEnter, serverUser, type ServerUser } from './server-user.ts';

export interface EmbeddedPostgresOptions {
  /** Where the cluster lives. Created when missing. Two processes with one directory share one server. */
  readonly stateDir: string;
  /** Default `durable`. `disposable` turns off fsync and friends: for tests, whose data need not survive a power cut. */
  readonly durability?: Durability;
}

export interface EmbeddedPostgres {
  readonly port: number;
  /** Process id of the postmaster. */
  readonly pid: number;
  /** True when the server was already running for this directory; then `stop` leaves it alone. */
  readonly shared: boolean;
  /** Connection string for `database`; `postgres` always exists. */
  url(database: string): string;
  /** Fast shutdown: open transactions are rolled back, data is flushed. Resolves when the server is gone. */
  stop(): Promise<void>;
}

/** Used instead of `stateDir` by root when the account it lends cannot reach that directory. */
const ROOT_FALLBACK = '/var/lib/signalbox';
const START_TIMEOUT_MS = 60_000;
const POLL_MS = 25;
const PORT_ATTEMPTS = 5;

/** Log files are used again: for a new one 16 MB of zeros are written to the disk, and for so long nobody commits. */
const KEPT_LOG = ['-c', 'min_wal_size=1GB'];
const DURABILITY_FLAGS = {
  durable: KEPT_LOG,
  disposable: ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off'],
} as const;

/**
 * Runs PostgreSQL as the parent of `"$@"` and stops it when file descriptor 3 closes. The kernel closes that pipe
 * whenever our process ends, SIGKILL included, so no PostgreSQL outlives its owner. It is told until it is gone: what a
 * shell runs in the background ignores SIGINT until it says otherwise, and PostgreSQL does so only some moments after its start.
 */
const GUARD = `"$@" 3<&- & server=$!
(read -r _ <&3; while kill -INT "$server"; do sleep 1; done) 2>/dev/null & watcher=$!
wait "$server"; status=$?
kill "$watcher" 2>/dev/null
exit "$status"`;

/**
 * Starts a private PostgreSQL, or joins the one that already runs on `stateDir`.
 * @throws Error with the end of the server's log when it does not become ready within 60 s.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const user = serverUser();
  const home = reachableHome(path.resolve(options.stateDir), user);
  const binaries = await usableBinaries(user, path.join(path.dirname(home), 'bin'));
  const durability = options.durability ?? 'durable';
  const cluster = openCluster(home, binaries, user, durability);
  const flags = DURABILITY_FLAGS[durability];

  for (let attempt = 1; ; attempt += 1) {
    const running = await joinRunning(cluster);
    if (running) return running;
    const started = await tryStart(cluster, binaries, user, flags);
    if (started) return started;
    if (attempt === PORT_ATTEMPTS) throw new Error(`PostgreSQL did not start:\n${endOfLog(cluster)}`);
  }
}

function reachableHome(stateDir: string, user: ServerUser): string {
  fs.mkdirSync(stateDir, { recursive: true });
  const base = canEnter(user, stateDir) ? stateDir : path.join(ROOT_FALLBACK, shortHash(stateDir));
  const home = path.join(base, 'pg');
  makePrivate(home, user);
  return home;
}

/** Joins a live server; waits for one that is starting or stopping; clears away what a dead one left. */
async function joinRunning(cluster: Cluster): Promise<EmbeddedPostgres | undefined> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    const postmaster = readPostmaster(cluster.data);
    if (!postmaster) return undefined;
    if (isStale(postmaster, cluster.data)) {
      forgetPostmaster(cluster.data);
      return undefined;
    }
    if (postmaster.ready)
      return { ...describe(cluster, postmaster.port, postmaster.pid), shared: true, stop: async () => {} };
    await sleep(POLL_MS);
  }
  throw new Error(`A PostgreSQL on ${cluster.data} neither became ready nor ended within ${START_TIMEOUT_MS / 1000} s`);
}

/** One attempt on one port. Undefined when another process took the port or the directory meanwhile: try again. */
async function tryStart(
  cluster: Cluster,
  binaries: Binaries,
  user: ServerUser,
  flags: readonly string[],
): Promise<EmbeddedPostgres | undefined> {
  const port = await freePort();
  const guard = spawnGuarded(cluster, user, [
    binaries.postgres,
    '-D',
    cluster.data,
    '-p',
    String(port),
    ...LISTEN_FLAGS,
    ...flags,
  ]);
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (guard.exitCode === null && guard.signalCode === null && Date.now() < deadline) {
    const postmaster = readPostmaster(cluster.data);
    if (postmaster?.ready && postmaster.port === port) {
      return { ...describe(cluster, port, postmaster.pid), shared: false, stop: () => stopGuarded(guard) };
    }
    await sleep(POLL_MS);
  }
  await stopGuarded(guard);
  return undefined;
}

const LISTEN_FLAGS = ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories=', '-c', 'timezone=UTC'];

/** `detached` keeps a terminal's Ctrl-C from PostgreSQL, so the application can drain before its database goes. */
function spawnGuarded(cluster: Cluster, user: ServerUser, command: readonly string[]): ChildProcess {
  const log = openFreshLog(cluster.log);
  try {
    const stdio = ['ignore', log, log, 'pipe'] as const;
    const guard = spawn('/bin/sh', ['-c', GUARD, 'embedded-postgres', ...command], {
      ...user,
      cwd: '/',
      detached: true,
      stdio: [...stdio],
    });
    guard.unref(); // a process that has nothing left to do may end; the pipe then stops the server
    guardPipe(guard).unref();
    return guard;
  } finally {
    fs.closeSync(log);
  }
}

async function stopGuarded(guard: ChildProcess): Promise<void> {
  if (guard.exitCode !== null || guard.signalCode !== null) return;
  const gone = once(guard, 'exit');
  guard.ref();
  guardPipe(guard).destroy();
  await gone;
}

function guardPipe(guard: ChildProcess): net.Socket {
  return guard.stdio[3] as net.Socket;
}

function describe(cluster: Cluster, port: number, pid: number): Pick<EmbeddedPostgres, 'port' | 'pid' | 'url'> {
  return {
    port,
    pid,
    url: (database) => `postgresql://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${database}`,
  };
}

async function freePort(): Promise<number> {
  const probe = net.createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as net.AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

/** Keeps the previous start's log beside the new one: that is where the reason of a crash is. */
function openFreshLog(file: string): number {
  if (fs.existsSync(file)) fs.renameSync(file, `${file}.previous`);
  return fs.openSync(file, 'a', 0o600);
}

function endOfLog(cluster: Cluster): string {
  return fs.readFileSync(cluster.log, 'utf8').slice(-2_000);
}

function shortHash(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12);
}
