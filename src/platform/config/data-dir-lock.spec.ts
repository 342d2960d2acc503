import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { lockDataDir } from './data-dir-lock.ts';

const MODULE = path.resolve('src/platform/config/data-dir-lock.ts');
const children: ChildProcess[] = [];
let directory: string;
let file: string;

beforeEach(() => {
  directory = fs.mkdtempSync(path.join(os.tmpdir(), 'lock-'));
  file = path.join(directory, 'lock');
});
afterEach(async () => {
  await Promise.all(children.splice(0).map((child) => end(child)));
  fs.rmSync(directory, { recursive: true });
});

describe('the lock of a data directory', () => {
  it('refuses a second owner while the first one lives, and names the setting and the process', async () => {
    const owner = await hold();
    const sentence = `SIGNALBOX_DATA_DIR names ${directory}, which process ${owner.pid ?? 0} is using`;
    expect(() => lockDataDir(directory)).toThrow(sentence);
  });

  it('belongs to nobody once its owner was killed', async () => {
    await end(await hold());
    expect(fs.existsSync(file)).toBe(true);
    const release = lockDataDir(directory);
    expect(fs.readFileSync(file, 'utf8').split(' ')[0]).toBe(String(process.pid));
    release();
  });

  it('belongs to nobody when its owner’s number was given to another process', () => {
    fs.writeFileSync(file, `${process.pid} 1`); // this process did not start with the machine
    lockDataDir(directory)();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it.each(['', 'nonsense', '0 0', '-1 0'])('is not held by a file that names no process (%j)', (text) => {
    fs.writeFileSync(file, text);
    lockDataDir(directory)();
    expect(fs.readdirSync(directory)).toEqual([]);
  });

  it('can be read by its owner only, and goes when its owner lets go', () => {
    const release = lockDataDir(directory);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    release();
    expect(fs.existsSync(file)).toBe(false);
  });

  it('is not taken from another process by one that lets go late', () => {
    const release = lockDataDir(directory);
    fs.writeFileSync(file, '1 1');
    release();
    expect(fs.readFileSync(file, 'utf8')).toBe('1 1');
  });

  it('goes to one of several processes that find a stale file at the same moment', async () => {
    fs.writeFileSync(file, `${spawnSync('true').pid} 1`);
    const at = Date.now() + 1_500;
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => attempt(at)));
    expect(outcomes.filter((outcome) => outcome === 'held')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome.startsWith('SIGNALBOX_DATA_DIR names'))).toHaveLength(5);
  });
});

/** A process that takes the lock and keeps it. */
async function hold(): Promise<ChildProcess> {
  const child = run(`lockDataDir(${JSON.stringify(directory)}); console.log('held');`);
  await firstLine(child);
  return child;
}

/** What becomes of a process that tries at a certain moment. */
async function attempt(at: number): Promise<string> {
  const script = `while (Date.now() < ${at}) {} try { lockDataDir(${JSON.stringify(directory)}); console.log('held'); } catch (error) { console.log(error.message); }`;
  return firstLine(run(script));
}

function run(script: string): ChildProcess {
  const source = `import { lockDataDir } from ${JSON.stringify(MODULE)}; ${script} setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  return child;
}

async function firstLine({ stdout }: ChildProcess): Promise<string> {
  if (!stdout) throw new Error('There is no output');
  for await (const line of createInterface({ input: stdout })) return line;
  return '';
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}
