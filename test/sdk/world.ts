import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Sdk } from '../support/python.ts';
import { eventually, RestClient, type Answer } from '../support/rest.ts';
import { startServer, type RunningServer, type ServerOptions } from '../support/server.ts';
import { endWorkers, startWorker, type WorkerOptions, type WorkerProcess } from '../support/worker-process.ts';
import type { AgentView, InvokeAnswer, RunDetail, RunView } from './views.ts';

const TERMINAL = new Set(['succeeded', 'failed', 'cancelled']);

/** How a worker differs from the usual one: the probe, speaking straight to the server under the agent's own name. */
export type WorkerVariant = Partial<Omit<WorkerOptions, 'python'>>;

/** A server with workers of the real SDK around it. */
export class World {
  private readonly directory = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-sdk-world-'));
  private readonly tokens = new Map<string, Promise<string>>();

  private constructor(
    readonly server: RunningServer,
    readonly rest: RestClient,
  ) {}

  static async open(options: ServerOptions = {}): Promise<World> {
    const server = await startServer(options);
    return new World(server, new RestClient(server.url, server.key));
  }

  async close(): Promise<void> {
    await endWorkers();
    await this.server.stop();
    fs.rmSync(this.directory, { recursive: true, force: true });
  }

  /** A worker token for a handle. A second one would kill the first: workers of one agent share theirs. */
  token(handle: string): Promise<string> {
    return this.tokens.get(handle) ?? this.rotate(handle);
  }

  /** A new worker token for a handle; the one before is dead. */
  rotate(handle: string): Promise<string> {
    const body = { agentId: handle };
    const token = this.rest
      .ask<{ token: string }>('POST', '/api/v1/agents/worker-token', { body })
      .then((answer) => answer.token);
    this.tokens.set(handle, token);
    return token;
  }

  /** Starts a worker and does not wait for it. */
  async launch(sdk: Sdk, handle: string, variant: WorkerVariant = {}): Promise<WorkerProcess> {
    return startWorker({
      url: this.server.url,
      agentId: handle,
      ...variant,
      python: sdk.python,
      token: variant.token ?? (await this.token(handle)),
      script: workerScript(variant.script ?? 'probe.py'),
      env: { COUNT_FILE: this.file('entries'), NOTES_FILE: this.file('notes'), ...variant.env },
    });
  }

  /** Starts a worker that is seen online before this returns. */
  async worker(sdk: Sdk, handle: string, variant: WorkerVariant = {}): Promise<WorkerProcess> {
    const worker = await this.launch(sdk, handle, variant);
    await eventually(
      async () => {
        if (!worker.isRunning) throw new Error(`The worker ended:\n${worker.output()}`);
        const { instances } = await this.agent(handle);
        if (!instances.some((one) => one.worker_id === worker.id && one.is_online)) throw new Error('It is not online');
        return worker;
      },
      { within: 60_000 }, // several at once on a busy machine spend half a minute on their imports
    );
    return worker;
  }

  agent(handle: string): Promise<AgentView> {
    return this.rest.ask('GET', `/api/v1/agents/${handle}`);
  }

  async invoke(handle: string, input: unknown): Promise<InvokeAnswer> {
    const { status, body } = await this.rest.invoke<InvokeAnswer>(handle, { input });
    if (status !== 200) throw new Error(`Invoke answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Queues a run. */
  createRun(handle: string, input: unknown): Promise<RunView> {
    return this.rest.ask('POST', '/api/v1/runs', { body: { agent_id: handle, input } });
  }

  /** Queues a run with an input that JavaScript cannot write: its JSON text. */
  createRawRun(handle: string, input: string): Promise<Answer<RunView>> {
    return this.rest.call('POST', '/api/v1/runs', { body: `{"agent_id":${JSON.stringify(handle)},"input":${input}}` });
  }

  run(runId: string): Promise<RunDetail> {
    return this.rest.ask('GET', `/api/v1/runs/${runId}`);
  }

  cancel(runId: string, reason?: string): Promise<RunView> {
    return this.rest.ask('POST', `/api/v1/runs/${runId}/cancel`, { body: { reason } });
  }

  /** Waits until a run has one of these statuses. */
  async reached(runId: string, statuses: ReadonlySet<string> | string, within = 20_000): Promise<RunDetail> {
    return eventually(
      async () => {
        const run = await this.run(runId);
        if (typeof statuses === 'string' ? run.status === statuses : statuses.has(run.status)) return run;
        throw new Error(`The run is ${run.status}`);
      },
      { within },
    );
  }

  /** Waits until a run has ended. */
  ended(runId: string, within = 20_000): Promise<RunDetail> {
    return this.reached(runId, TERMINAL, within);
  }

  /** Every entry into a handler, as the workers themselves counted: run, attempt, process. */
  entries(): { readonly runId: string; readonly attempt: string; readonly pid: number }[] {
    return this.lines('entries').map((line) => {
      const [runId = '', attempt = '', pid = ''] = line.split(' ');
      return { runId, attempt, pid: Number(pid) };
    });
  }

  /** What handlers noted down about themselves. */
  notes(): string[] {
    return this.lines('notes');
  }

  private file(name: string): string {
    return path.join(this.directory, name);
  }

  private lines(name: string): string[] {
    const file = this.file(name);
    return fs.existsSync(file) ? fs.readFileSync(file, 'utf8').split('\n').filter(Boolean) : [];
  }
}

/** The handle of an agent that belongs to one group of tests and one SDK version. */
export function handleFor(sdk: Sdk, name: string): string {
  return `${name}-${sdk.version.replaceAll('.', '-')}`;
}

function workerScript(name: string): string {
  return fileURLToPath(new URL(`workers/${name}`, import.meta.url));
}
