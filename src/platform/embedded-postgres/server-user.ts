import { execFileSync, spawnSync } from 'node:child_process';

/** The operating-system identity PostgreSQL runs under; empty means "as this process". */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** PostgreSQL refuses to run as root, so root lends it the first of these accounts that exists. */
const CANDIDATES_WHEN_ROOT = ['postgres', 'nobody'];

/**
 * Chooses the account that PostgreSQL runs under.
 * @throws Error when this process is root and the machine has no unprivileged account to lend.
 */
export function serverUser(): ServerUser {
  if (process.getuid?.() !== 0) return {};
  for (const name of CANDIDATES_WHEN_ROOT) {
    const uid = numericId('-u', name);
    const gid = numericId('-g', name);
    if (uid !== undefined && gid !== undefined) return { uid, gid };
  }
  throw new Error(
    `PostgreSQL cannot run as root and none of these accounts exists: ${CANDIDATES_WHEN_ROOT.join(', ')}`,
  );
}

/** Runs a program as `user` and says whether it succeeded. Asks the kernel instead of reading mode bits. */
export function succeedsAs(user: ServerUser, program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { ...user, cwd: '/', stdio: 'ignore' }).status === 0;
}

/** Whether `user` can reach `directory` and pass through it. */
export function canEnter(user: ServerUser, directory: string): boolean {
  return succeedsAs(user, '/bin/sh', ['-c', 'test -x "$1"', 'sh', directory]);
}

function numericId(flag: '-u' | '-g', name: string): number | undefined {
  try {
    return Number(execFileSync('id', [flag, name], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
  } catch {
    return undefined;
  }
}
