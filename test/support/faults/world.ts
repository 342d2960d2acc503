import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { RestClient, eventually } from '../rest.ts';
import { startServer, type RunningServer } from '../server.ts';
import { auditOfFaults, type Count, type Remains } from './audit.ts';
import { CountingWorker, type WorkerChoices } from './counting-worker.ts';
import { scaledSettings } from './factor.ts';
import { Load, type LoadOptions } from './load.ts';
import { OwnPostgres } from './own-postgres.ts';

export interface WorldOptions {
  readonly replicas?: number;
  /** Waits that differ from the defaults, by the middle of their settings' names, in seconds of true length. */
  readonly seconds?: Readonly<Record<string, number>>;
  /** Further settings of each replica, by its place. */
  readonly env?: (replica: number) => Readonly<Record<string, string>>;
  /** A PostgreSQL of its own, which may be stopped. */
  readonly ownPostgres?: boolean;
  /** The agent's policy (contract of `PUT /agents/{id}/policy`), in seconds as they are. */
  readonly policy?: Readonly<Record<string, unknown>>;
}

/** What a load of this world need not say. */
export type LoadChoices = Omit<LoadOptions, 'urls' | 'key' | 'handle'>;

/** One agent with its workers on a control plane of its own, to break things in. */
export class World {
  readonly handle = 'counted';
  readonly servers: readonly RunningServer[];
  readonly postgres: OwnPostgres | undefined;
  readonly rest: RestClient;
  readonly token: string;
  private readonly directory: string;
  private readonly policy: WorldOptions['policy'];
  private readonly workers = new Set<CountingWorker>();
  private isEnding = false;

  private constructor(
    servers: readonly RunningServer[],
    token: string,
    options: WorldOptions,
    postgres: OwnPostgres | undefined,
  ) {
    this.servers = servers;
    this.token = token;
    this.policy = options.policy;
    this.postgres = postgres;
    this.rest = new RestClient(this.server.url, this.server.key);
    this.directory = fs.mkdtempSync(path.join(os.tmpdir(), 'signalbox-journal-'));
  }

  static async open(options: WorldOptions = {}): Promise<World> {
    const postgres = options.ownPostgres === true ? await OwnPostgres.start() : undefined;
    const servers: RunningServer[] = [];
    for (let replica = 0; replica < (options.replicas ?? 1); replica += 1) {
      const database = servers[0]?.databaseUrl ?? postgres?.url;
      const env = {
        SIGNALBOX_LOG_LEVEL: 'info',
        ...scaledSettings(options.seconds),
        ...options.env?.(replica),
      };
      servers.push(await startServer({ ...(database === undefined ? {} : { database }), env }));
    }
    const [server] = servers;
    if (!server) throw new Error('A world has at least one replica');
    const rest = new RestClient(server.url, server.key);
    const { token } = await rest.ask<{ token: string }>('POST', '/api/v1/agents/worker-token', {
      body: { agentId: 'counted' },
    });
    return new World(servers, token, options, postgres);
  }

  /** The first replica. */
  get server(): RunningServer {
    const [server] = this.servers;
    if (!server) throw new Error('A world has at least one replica');
    return server;
  }

  get journal(): Remains['journal'] {
    return { entries: path.join(this.directory, 'entries'), acknowledged: path.join(this.directory, 'acknowledged') };
  }

  /** Starts a worker and waits until it is registered; the first one makes the agent, which then gets its policy. */
  async startWorker(choices: WorkerChoices = {}): Promise<CountingWorker> {
    const isFirst = this.workers.size === 0;
    const worker = await this.spawn(choices).isRegistered();
    if (isFirst) await this.setPolicy();
    return worker;
  }

  /** Keeps a worker of this kind alive until the world ends: one that was killed is replaced, as supervisors do. */
  async keepWorker(choices: WorkerChoices = {}): Promise<KeptWorker> {
    const kept = { worker: await this.startWorker(choices), isKept: true };
    void this.replace(kept, choices);
    return kept;
  }

  load(choices: LoadChoices = {}): Load {
    return new Load({
      urls: () => this.servers.map(({ url }) => url),
      key: this.server.key,
      handle: this.handle,
      ...choices,
    });
  }

  /** @see auditOfFaults */
  audit(load: Remains['load'], rest: Omit<Remains, 'rest' | 'query' | 'journal' | 'load'> = {}): Promise<Count> {
    const query = <Row extends object>(sql: string) => this.server.query<Row>(sql);
    return auditOfFaults({ rest: this.rest, query, journal: this.journal, load, ...rest });
  }

  /** The lines that workers wrote at handler entry. */
  entries(): string[] {
    if (!fs.existsSync(this.journal.entries)) return [];
    return fs.readFileSync(this.journal.entries, 'utf8').trim().split('\n');
  }

  /** Ends everything; called whatever became of the scenario. */
  async end(): Promise<void> {
    this.isEnding = true;
    for (const worker of this.workers) worker.signal('SIGCONT');
    await Promise.all([...this.workers].map((worker) => worker.kill()));
    this.postgres?.thaw();
    for (const server of this.servers.toReversed()) await server.stop();
    await this.postgres?.remove();
    fs.rmSync(this.directory, { recursive: true, force: true });
  }

  private spawn(choices: WorkerChoices): CountingWorker {
    const { token, handle, journal } = this;
    const worker = CountingWorker.spawn({ url: this.server.url, token, handle, ...journal }, choices);
    this.workers.add(worker);
    return worker;
  }

  private async replace(kept: KeptWorker, choices: WorkerChoices): Promise<void> {
    for (let turn = 1; ; turn += 1) {
      await kept.worker.ended;
      await sleep(50);
      if (this.isEnding || !kept.isKept) return;
      const crash = choices.crash ? { ...choices.crash, seed: choices.crash.seed + turn * 1_000 } : null;
      kept.worker = this.spawn({ ...choices, crash });
    }
  }

  private async setPolicy(): Promise<void> {
    if (!this.policy) return;
    await eventually(() => this.rest.ask('PUT', `/api/v1/agents/${this.handle}/policy`, { body: this.policy }));
  }
}

/** A place that a worker always stands in. */
export interface KeptWorker {
  worker: CountingWorker;
  isKept: boolean;
}

/** Works in a world of its own, which ends whatever happens. */
export async function inWorld<T>(options: WorldOptions, work: (world: World) => Promise<T>): Promise<T> {
  const world = await World.open(options);
  try {
    return await work(world);
  } catch (error) {
    process.stdout.write(`${world.servers.map((server) => server.log().slice(-4_000)).join('\n---\n')}\n`);
    throw error;
  } finally {
    await world.end();
  }
}
