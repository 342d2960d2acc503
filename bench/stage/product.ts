import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { promisify } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { JsonClient } from '../client/json-client.ts';
import { canReadProcesses, memoryOf, PROBED, usageOf, type MemoryAnswer, type Usage } from './processes.ts';

/** How to start the product. */
interface ProductSettings {
  /** The compiled entry point, as users start it. */
  readonly entry: string;
  readonly databaseUrl: string;
  readonly dataDirectory: string;
  readonly apiKey: string;
  readonly start: StartOptions;
}

/** How a row wants the product started. */
export interface StartOptions {
  /** Where it listens; absent: on a free port. */
  readonly port?: number;
  /** Whether it can be asked for its memory. */
  readonly isProbed?: boolean;
  /** Another way to its database. */
  readonly databaseUrl?: string;
}

/** One running server. */
export interface Product {
  readonly url: string;
  readonly apiKey: string;
  /** From the start of the process to the first 200 of /readyz. */
  readonly readyAfterMs: number;
  usage(): Usage | null;
  /** The same server as another account sees it. */
  asAccount(slug: string): Promise<Product>;
  /** What it holds without garbage; only of one that was started probed. */
  memory(): Promise<MemoryAnswer>;
  stop(): Promise<void>;
}

const START_LIMIT_MS = 60_000;
const STOP_LIMIT_MS = 15_000;
const READY_POLL_MS = 5;
const KEPT_OUTPUT = 4_000;

/**
 * Starts the server and waits until it is ready.
 * @throws Error with the end of its output when it ends or is not ready within a minute.
 */
export async function startProduct(settings: ProductSettings): Promise<Product> {
  const startedAt = performance.now();
  const server = new ServerProcess(settings);
  try {
    const url = await server.listening();
    await untilReady(url, server);
    const readyAfterMs = performance.now() - startedAt;
    const { pid } = server;
    const product: Product = {
      url,
      apiKey: settings.apiKey,
      readyAfterMs,
      usage: () => (canReadProcesses ? usageOf(pid) : null),
      memory: () => server.memory(),
      asAccount: async (slug) => ({ ...product, apiKey: await createAccount(settings, slug) }),
      stop: () => server.stop(),
    };
    return product;
  } catch (cause) {
    await server.stop();
    throw new Error(`the server did not start: ${String(cause)}\n${server.output}`, { cause });
  }
}

/** As operators do it: by the command beside the server. Answers the API key of the account's owner. */
async function createAccount(settings: ProductSettings, slug: string): Promise<string> {
  const command = path.join(path.dirname(settings.entry), 'admin.js');
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, [command, 'account', 'create', slug], { env: environment(settings) });
  const key = /shown this once: (\S+)/.exec(stdout)?.[1];
  if (key === undefined) throw new Error(`no account was made: ${stdout}`);
  return key;
}

async function untilReady(url: string, server: ServerProcess): Promise<void> {
  const client = new JsonClient(url);
  const deadline = performance.now() + START_LIMIT_MS;
  try {
    while ((await client.send('GET', '/readyz')).status !== 200) {
      if (server.ended) throw new Error('it ended by itself');
      if (performance.now() > deadline) throw new Error('/readyz did not answer 200 within a minute');
      await sleep(READY_POLL_MS);
    }
  } finally {
    client.close();
  }
}

class ServerProcess {
  /** The end of what it printed. */
  output = '';
  private readonly child: ChildProcess;
  private readonly url = Promise.withResolvers<string>();

  constructor(settings: ProductSettings) {
    const { isProbed = false } = settings.start;
    this.child = spawn(process.execPath, [...(isProbed ? PROBED : []), settings.entry], {
      env: environment(settings),
      stdio: isProbed ? ['ignore', 'pipe', 'pipe', 'ipc'] : ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.setEncoding('utf8').on('data', (text: string) => this.read(text));
    this.child.stderr?.setEncoding('utf8').on('data', (text: string) => this.keep(text));
    this.child.once('error', (error) => this.url.reject(error));
    this.child.once('exit', (code, signal) => this.url.reject(new Error(`it ended with ${code ?? signal}`)));
    this.url.promise.catch(() => {}); // whoever waits for it hears of it
  }

  get pid(): number {
    if (this.child.pid === undefined) throw new Error('the server has no process');
    return this.child.pid;
  }

  get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null;
  }

  async listening(): Promise<string> {
    const late = new AbortController();
    const timeout = sleep(START_LIMIT_MS, undefined, { signal: late.signal }).then(() => {
      throw new Error('it did not say where it listens within a minute');
    });
    timeout.catch(() => {}); // the abort below
    try {
      return await Promise.race([this.url.promise, timeout]);
    } finally {
      late.abort();
    }
  }

  memory(): Promise<MemoryAnswer> {
    return memoryOf(this.child);
  }

  /** Asks it to drain, and ends it when it does not. */
  async stop(): Promise<void> {
    if (this.ended || this.child.pid === undefined) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const timer = setTimeout(() => this.child.kill('SIGKILL'), STOP_LIMIT_MS);
    await exited;
    clearTimeout(timer);
    if (this.child.signalCode === 'SIGKILL')
      throw new Error(`the server did not end within ${STOP_LIMIT_MS / 1000} s of SIGTERM`);
  }

  private read(text: string): void {
    this.keep(text);
    if (!text.includes('"listening"')) return;
    for (const line of this.output.split('\n')) {
      const url = /"msg":"listening"/.test(line) ? /"url":"([^"]+)"/.exec(line)?.[1] : undefined;
      if (url !== undefined) this.url.resolve(url);
    }
  }

  private keep(text: string): void {
    this.output = (this.output + text).slice(-KEPT_OUTPUT);
  }
}

/** Ours only: a setting of the user's shell must not change what is measured. */
function environment({ databaseUrl, dataDirectory, apiKey, start }: ProductSettings): NodeJS.ProcessEnv {
  const foreign = /^(SIGNALBOX_|BENCH_)|^(DATABASE_URL|REDIS_URL|PORT|HOST|PUBLIC_URL)$/;
  const kept = Object.entries(process.env).filter(([name]) => !foreign.test(name));
  return {
    ...Object.fromEntries(kept),
    PORT: String(start.port ?? 0),
    DATABASE_URL: databaseUrl,
    SIGNALBOX_DATA_DIR: dataDirectory,
    SIGNALBOX_BOOTSTRAP_API_KEY: apiKey,
  };
}
