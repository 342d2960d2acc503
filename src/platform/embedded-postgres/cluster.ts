import { randomBytes } from 'node:crypto';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import type { Binaries } from './binaries.ts';
import type { ServerUser } from './server-user.ts';

/** The files of one private PostgreSQL cluster. Everything below `home` belongs to the server's account. */
export interface Cluster {
  readonly data: string;
  readonly log: string;
  /** The superuser's password; random per cluster, readable only by its owner and root. */
  readonly password: string;
}

/** What a running (or dead) postmaster wrote about itself. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly ready: boolean;
}

/** `disposable` trades safety against power cuts for speed: for tests. */
export type Durability = 'durable' | 'disposable';

export const SUPERUSER = 'signalbox';
const MAJOR_VERSION = 18;

/**
 * Opens the cluster in `home`, creating it on first use.
 *
 * A new cluster is made under a scratch name and renamed: a process killed during initdb leaves no half-made cluster,
 * and of two processes that start at once one wins and the other uses the winner's.
 * @throws Error with initdb's own words when it fails.
 */
export function openCluster(home: string, binaries: Binaries, user: ServerUser, durability: Durability): Cluster {
  const data = path.join(home, `data-${MAJOR_VERSION}`);
  if (!fs.existsSync(path.join(data, 'PG_VERSION')))
    createCluster(home, data, user, (directory, password) =>
      runInitdb(binaries.initdb, directory, password, user, durability),
    );
  return { data, log: path.join(home, 'postgres.log'), password: fs.readFileSync(passwordFile(data), 'utf8').trim() };
}

/** Makes `directory` (0700) and gives it to `user`. */
export function makePrivate(directory: string, user: ServerUser): void {
  fs.mkdirSync(directory, { recursive: true });
  fs.chmodSync(directory, 0o700);
  give(directory, user);
}

/** Reads `postmaster.pid`; undefined when there is none or it is still being written. */
export function readPostmaster(data: string): Postmaster | undefined {
  const lines = readIfPresent(path.join(data, 'postmaster.pid'))?.split('\n') ?? [];
  const [pid, , , port, , , , status] = lines;
  if (!pid) return undefined;
  return { pid: Math.abs(Number(pid)), port: Number(port ?? 0), ready: status?.trim() === 'ready' };
}

/**
 * Whether the process that wrote `postmaster.pid` is gone. A live process with that number proves nothing: after a
 * reboot or a container restart numbers are reused, so it must be a PostgreSQL on this very data directory.
 */
export function isStale(postmaster: Postmaster, data: string): boolean {
  return !commandLine(postmaster.pid).includes(data);
}

export function forgetPostmaster(data: string): void {
  fs.rmSync(path.join(data, 'postmaster.pid'), { force: true });
}

function createCluster(
  home: string,
  data: string,
  user: ServerUser,
  initdb: (directory: string, passwordFile: string) => void,
): void {
  removeAbandoned(home);
  const scratch = path.join(home, `initdb-${process.pid}`);
  makePrivate(scratch, user);
  const password = `${scratch}.password`;
  fs.writeFileSync(password, randomBytes(24).toString('base64url'), { mode: 0o600 });
  give(password, user);
  try {
    initdb(scratch, password);
    fs.renameSync(password, passwordFile(scratch));
    renameUnlessPresent(scratch, data);
  } finally {
    fs.rmSync(scratch, { recursive: true, force: true });
    fs.rmSync(password, { force: true });
  }
}

/** What processes left that were killed during initdb. */
function removeAbandoned(home: string): void {
  for (const name of fs.readdirSync(home)) {
    const pid = /^initdb-(\d+)/.exec(name)?.[1];
    if (pid && (Number(pid) === process.pid || commandLine(Number(pid)) === ''))
      fs.rmSync(path.join(home, name), { recursive: true, force: true });
  }
}

function runInitdb(
  initdb: string,
  directory: string,
  password: string,
  user: ServerUser,
  durability: Durability,
): void {
  const access = ['-U', SUPERUSER, '--pwfile', password, '-A', 'scram-sha-256'];
  const sync = durability === 'disposable' ? ['--no-sync'] : [];
  const args = ['-D', directory, ...access, ...sync, '-E', 'UTF8', '--locale', 'C.UTF-8', '--no-instructions'];
  const result = spawnSync(initdb, args, { ...user, cwd: '/', encoding: 'utf8' });
  if (result.status !== 0) throw new Error(`initdb failed: ${result.error?.message ?? result.stderr}`);
}

function renameUnlessPresent(from: string, to: string): void {
  try {
    fs.renameSync(from, to);
  } catch (error) {
    if (!fs.existsSync(path.join(to, 'PG_VERSION'))) throw error;
  }
}

function passwordFile(data: string): string {
  return path.join(data, 'signalbox.password');
}

function give(file: string, user: ServerUser): void {
  if (user.uid !== undefined && user.gid !== undefined) fs.chownSync(file, user.uid, user.gid);
}

function commandLine(pid: number): string {
  const fromProc = readIfPresent(`/proc/${pid}/cmdline`);
  if (fromProc !== undefined || process.platform === 'linux') return fromProc ?? '';
  return spawnSync('ps', ['-p', String(pid), '-o', 'command='], { encoding: 'utf8' }).stdout ?? '';
}

function readIfPresent(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH' || code === 'EACCES') return undefined;
    throw error;
  }
}
