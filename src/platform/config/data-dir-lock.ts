import fs from 'node:fs';
import path from 'node:path';
import { StartRefused } from './config.ts';

const ATTEMPTS = 5;
/** A file without an owner is being written at this moment, or its writer died in it: these looks tell. */
const LOOKS_AT_EMPTY = 3;
const PAUSE_MS = 20;

/**
 * Holds a data directory for one process. The file names its owner by process id and start time, so a file that a
 * killed process left does not lock anybody out, even when its number was given to another process.
 * @returns a function that lets go.
 * @throws StartRefused while the owner lives.
 */
export function lockDataDir(directory: string): () => void {
  const file = path.join(directory, 'lock');
  const mine = `${process.pid} ${startedAt(process.pid)}`;
  for (let attempt = 1; attempt <= ATTEMPTS; attempt += 1) {
    if (tryWrite(file, mine)) return () => release(file, mine);
    const owner = read(file);
    if (owner === undefined) continue;
    if (isAlive(owner))
      throw new StartRefused(
        `SIGNALBOX_DATA_DIR names ${directory}, which process ${owner.split(' ')[0] ?? ''} is using`,
      );
    if (owner === '' && attempt < LOOKS_AT_EMPTY) pause();
    else clearAway(file, owner);
  }
  throw new StartRefused(`SIGNALBOX_DATA_DIR names ${directory}, which other processes are taking at this moment`);
}

function pause(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
}

/** Moves first and looks then: of two that find the same stale file, the slower one may have the other's new file in hand. */
function clearAway(file: string, stale: string): void {
  const aside = `${file}.${process.pid}`;
  try {
    fs.renameSync(file, aside);
    if (read(aside) === stale) fs.rmSync(aside);
    else fs.renameSync(aside, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

function tryWrite(file: string, text: string): boolean {
  try {
    fs.writeFileSync(file, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw new StartRefused(`SIGNALBOX_DATA_DIR names ${path.dirname(file)}, which cannot be written`);
  }
}

function release(file: string, mine: string): void {
  if (read(file) === mine) fs.rmSync(file, { force: true });
}

function read(file: string): string | undefined {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return undefined; // its owner let go in this very moment
  }
}

function isAlive(owner: string): boolean {
  const [pid = '', ...started] = owner.split(' ');
  if (!/^[1-9]\d*$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
  return startedAt(Number(pid)) === started.join(' ');
}

/** When a process started, in the kernel's ticks; empty where the platform does not tell, and then the number alone counts. */
function startedAt(pid: number): string {
  try {
    const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return '';
  }
}
