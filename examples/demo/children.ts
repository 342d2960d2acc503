/**
 * Child processes that cannot be left behind.
 *
 * Each child runs under a small shell guard that holds the reading end of a pipe. When the pipe closes, the guard asks
 * the child to end. We close it to stop a child; the kernel closes it when this process ends in whatever way, SIGKILL
 * included. A child has a process group of its own, so that Ctrl-C reaches only us and we decide the order of ending.
 */

import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';

const GUARD = `"$@" 3<&- & child=$!
(read -r _ <&3; kill -TERM "$child") 2>/dev/null & watcher=$!
wait "$child"; status=$?
kill "$watcher" 2>/dev/null
exit "$status"`;

/** Variables that no other program has a use for: secrets of the control plane, and settings of somebody else's worker. */
const PRIVATE = /^(DATABASE_URL|REDIS_URL|SIGNALBOX_.*|AGENTOPS_.*)$/;

/** Our own environment without what is private to the control plane, and with `extra`. */
export function environmentWith(extra: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const shared = Object.entries(process.env).filter(([name]) => !PRIVATE.test(name));
  return { ...Object.fromEntries(shared), ...extra };
}

export interface ChildOptions {
  readonly environment: NodeJS.ProcessEnv;
  /** Called with each line that the child writes. */
  readonly onLine: (line: string, from: 'stdout' | 'stderr') => void;
}

/** A running program. */
export class Child {
  /** Resolves with the exit code once the program has ended and everything it wrote was read. */
  readonly ended: Promise<number>;
  readonly #guard: ChildProcess;
  readonly #exited: Promise<unknown>;

  constructor(command: readonly string[], { environment, onLine }: ChildOptions) {
    const stdio = ['ignore', 'pipe', 'pipe', 'pipe'] as const;
    this.#guard = spawn('/bin/sh', ['-c', GUARD, 'guard', ...command], {
      env: environment,
      detached: true,
      stdio: [...stdio],
    });
    this.#exited = once(this.#guard, 'exit');
    this.ended = once(this.#guard, 'close').then(() => this.#guard.exitCode ?? 1);
    for (const from of ['stdout', 'stderr'] as const) {
      createInterface({ input: this.#guard[from] as Readable }).on('line', (line) => onLine(line, from));
    }
  }

  /** Asks the program to end, and ends it by force after `patience` milliseconds. What it started goes with it. */
  async stop(patience: number): Promise<void> {
    if (this.#guard.exitCode === null) await this.#end(patience);
    await this.ended;
  }

  async #end(patience: number): Promise<void> {
    const leash = this.#guard.stdio[3] as Writable;
    leash.destroy();
    const waiting = new AbortController();
    const outOfPatience = pause(patience, undefined, { signal: waiting.signal }).catch(() => undefined);
    await Promise.race([this.#exited, outOfPatience]);
    waiting.abort();
    this.#killGroup();
  }

  #killGroup(): void {
    if (this.#guard.pid === undefined) return;
    try {
      process.kill(-this.#guard.pid, 'SIGKILL');
    } catch {
      // Nothing is left in the group, as it should be.
    }
  }
}
