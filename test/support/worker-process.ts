import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import fs from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from '@jest/globals';

/** An idle worker of the SDK leaves when its wait for a doorbell ends: up to 10 s after SIGTERM. */
const DRAIN_LIMIT_MS = 12_000;

/** What a worker process is started with. */
export interface WorkerOptions {
  readonly python: string;
  /** The worker's script. */
  readonly script: string;
  /** Base address of the control plane. */
  readonly url: string;
  readonly token: string;
  /** The id in the author's specification, which need not be the token's agent. */
  readonly agentId: string;
  readonly workerId?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Where `agent.md` and `skills/` are looked for. Absent: an empty directory. */
  readonly directory?: string;
}

const running = new Set<WorkerProcess>();

/** Ends every worker that is still there, without asking it. */
export async function endWorkers(): Promise<void> {
  await Promise.all([...running].map((worker) => worker.kill()));
}

// Workers are processes of their own: they must not outlive a test file, whatever became of its tests.
afterAll(endWorkers);
process.on('exit', () => {
  for (const worker of running) worker.signal('SIGKILL');
});

/** Starts a worker. It is not registered yet when this returns. */
export async function startWorker(options: WorkerOptions): Promise<WorkerProcess> {
  const id = options.workerId ?? `wrk_${randomBytes(6).toString('hex')}`;
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-worker-'));
  const child = spawn(options.python, [options.script], {
    cwd: options.directory ?? directory,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env['PATH'],
      HOME: directory,
      LANG: 'C.UTF-8',
      PYTHONUNBUFFERED: '1',
      PYTHONDONTWRITEBYTECODE: '1',
      AGENTOPS_URL: options.url,
      AGENTOPS_WORKER_TOKEN: options.token,
      AGENTOPS_AGENT_ID: options.agentId,
      AGENTOPS_WORKER_ID: id,
      AGENTOPS_WORKER_HOST: '127.0.0.1',
      AGENTOPS_WORKER_PORT: String(await freePort()),
      AGENTOPS_LIVENESS_FILE: path.join(directory, 'alive'),
      ...options.env,
    },
  });
  const worker = new WorkerProcess(id, child, directory);
  running.add(worker);
  void worker.ended.then(() => running.delete(worker));
  return worker;
}

/** A worker process of the real SDK. */
export class WorkerProcess {
  /** Settles with the exit code, or with the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals>;
  private readonly chunks: Buffer[] = [];

  /** @internal Use `startWorker`. */
  constructor(
    readonly id: string,
    private readonly child: ChildProcess,
    directory: string,
  ) {
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => this.chunks.push(chunk));
    this.ended = new Promise((resolve) => {
      child.once('close', (code, signal) => {
        fs.rmSync(directory, { recursive: true, force: true });
        resolve(code ?? signal ?? 'SIGKILL');
      });
    });
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  get isRunning(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Everything it has printed. */
  output(): string {
    return Buffer.concat(this.chunks).toString('utf8');
  }

  signal(signal: NodeJS.Signals): void {
    if (this.isRunning) this.child.kill(signal);
  }

  /** Ends it as a supervisor does: SIGTERM, time to drain, SIGKILL. */
  async stop(): Promise<number | NodeJS.Signals> {
    this.signal('SIGTERM');
    await Promise.race([this.ended, sleep(DRAIN_LIMIT_MS, undefined, { ref: false })]);
    return this.kill();
  }

  /** Ends it without a word. */
  async kill(): Promise<number | NodeJS.Signals> {
    this.signal('SIGKILL');
    return this.ended;
  }
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  return port;
}
