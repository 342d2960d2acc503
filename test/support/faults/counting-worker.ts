import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FACTOR, scaled } from './factor.ts';
import { ORDERS_VARIABLE, type WorkerOrders } from './worker-orders.ts';

const PROGRAM = path.join(import.meta.dirname, 'worker-program.ts');
const START_LIMIT_MS = 30_000;
const running = new Set<CountingWorker>();
process.on('exit', () => {
  for (const worker of running) worker.signal('SIGKILL');
});

/** What a test chooses; the world knows the rest. */
export type WorkerChoices = Partial<Omit<WorkerOrders, 'entries' | 'acknowledged' | 'factor'>> & {
  /** A program and its arguments to start it with, such as `ip netns exec`. */
  readonly within?: readonly string[];
};

export type WorkerPlace = Pick<WorkerOrders, 'url' | 'token' | 'handle' | 'entries' | 'acknowledged'>;

/** A worker process that counts, seen from outside. */
export class CountingWorker {
  readonly id: string;
  /** Settles with the signal or the code that ended it. */
  readonly ended: Promise<NodeJS.Signals | number>;
  private readonly child: ChildProcess;
  private readonly lines: string[] = [];
  private readonly registered = Promise.withResolvers<void>();

  private constructor(orders: WorkerOrders, within: readonly string[]) {
    this.id = orders.workerId;
    const [command = '', ...args] = [...within, process.execPath, PROGRAM];
    this.child = spawn(command, args, {
      env: { PATH: process.env['PATH'], [ORDERS_VARIABLE]: JSON.stringify(orders), NODE_NO_WARNINGS: '1' },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.child.stdout, this.child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.hear(text));
    this.ended = once(this.child, 'exit').then(([code, signal]) => {
      running.delete(this);
      this.registered.reject(new Error(`The worker ended with ${code ?? signal}\n${this.output()}`));
      return (signal ?? code) as NodeJS.Signals | number;
    });
    this.registered.promise.catch(() => undefined);
    running.add(this);
  }

  /** Starts one that has not registered yet. */
  static spawn(place: WorkerPlace, { within = [], ...choices }: WorkerChoices = {}): CountingWorker {
    const workerId = `wrk_${randomBytes(6).toString('hex')}`;
    return new CountingWorker({ ...DEFAULTS, workerId, factor: FACTOR, ...place, ...choices }, within);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Resolves when its registration was answered. @throws Error with what it printed when it ends before. */
  async isRegistered(): Promise<this> {
    const late = sleep(START_LIMIT_MS, 'late' as const, { ref: false });
    if ((await Promise.race([this.registered.promise, late])) === 'late')
      throw new Error(`The worker did not register in time\n${this.output()}`);
    return this;
  }

  output(): string {
    return this.lines.join('');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.child.kill(signal);
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL');
    await this.ended;
  }

  /** SIGTERM, time for what it has in hand (its server may just be starting again, on a busy machine), SIGKILL. */
  async stop(): Promise<void> {
    this.signal('SIGTERM');
    await Promise.race([this.ended, sleep(Math.max(30_000, scaled(30)), undefined, { ref: false })]);
    await this.kill();
  }

  private hear(text: string): void {
    this.lines.push(text);
    if (text.includes('registered')) this.registered.resolve();
  }
}

const DEFAULTS = {
  slots: 1,
  handlerMs: [50, 150] as const,
  blocks: false,
  startAfterMs: 0,
  batches: 1,
  hasChannel: true,
  silenceSeconds: 60,
  crash: null,
};
