import { spawnSync } from 'node:child_process';
import fs from 'node:fs';

/** The command lines of processes that work on a directory. */
export function processesOn(directory: string): string[] {
  if (!fs.existsSync('/proc/self/cmdline')) {
    return spawnSync('ps', ['-A', '-o', 'command='], { encoding: 'utf8' })
      .stdout.split('\n')
      .filter((line) => line.includes(directory));
  }
  const all = fs
    .readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(commandLine);
  return all.filter((line) => line.includes(directory));
}

function commandLine(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return ''; // it ended meanwhile
  }
}
