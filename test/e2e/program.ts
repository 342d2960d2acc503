import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** How a program ended, and what it had said. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  /** From its start, or from the last signal that was sent to it. */
  readonly ms: number;
}

export interface LogLine {
  readonly level: string;
  readonly name: string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

const ROOT = path.resolve(import.meta.dirname, '../..');
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The built program, or its command-line companion, as an operator runs it: with nothing in its environment but `env`. */
export class Program {
  readonly ended: Promise<Ending>;
  readonly pid: number;
  private readonly child: ChildProcess;
  private out = '';
  private since = performance.now();

  constructor(name: 'main' | 'admin', env: Readonly<Record<string, string>>, args: readonly string[] = []) {
    const { PATH = '', HOME = '' } = process.env;
    const child = spawn(process.execPath, [path.join(ROOT, `dist/src/${name}.js`), ...args], {
      cwd: ROOT,
      env: { PATH, HOME, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    running.add(child);
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (this.out += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    this.child = child;
    this.pid = child.pid ?? 0;
    this.ended = once(child, 'close').then(([code, signal]) => {
      running.delete(child);
      return {
        code: code as number | null,
        signal: signal as NodeJS.Signals | null,
        stdout: this.out,
        stderr,
        ms: performance.now() - this.since,
      };
    });
  }

  get stdout(): string {
    return this.out;
  }

  /** The lines of the log so far. */
  log(): LogLine[] {
    const lines = this.out.split('\n').filter((line) => line.startsWith('{'));
    return lines.map((line) => JSON.parse(line) as LogLine);
  }

  /** The address that it listens on, once it does. @throws Error when it ends instead. */
  async url(): Promise<string> {
    for (;;) {
      const url = this.log().find(({ msg }) => msg === 'listening')?.['url'];
      if (typeof url === 'string') return url.replace(/\/$/, '');
      const ending = await Promise.race([this.ended, sleep(20)]);
      if (ending)
        throw new Error(`It ended with ${ending.code ?? ending.signal ?? ''}: ${ending.stderr}${ending.stdout}`);
    }
  }

  /** Sends a signal and waits for the end. */
  async end(signal: NodeJS.Signals): Promise<Ending> {
    this.since = performance.now();
    this.child.kill(signal);
    return this.ended;
  }
}
