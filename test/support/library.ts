import {
  serveAgent,
  type AgentDefinition,
  type Handler,
  type JsonObject,
  type WorkerOptions,
} from '../../examples/worker/src/index.ts';
import type { Json, Method, CallOptions } from './app.ts';
import { eventually } from './rest.ts';

/** A tenth of the true times. */
export const TENTH = {
  claimEvery: 1_000,
  keepAliveEvery: 4_500,
  answerWithin: 3_000,
  channelSilence: 6_000,
  firstPause: 100,
  longestPause: 1_000,
  batchEvery: 50,
  askAgainEvery: 1_000,
  abandonWithin: 500,
};

interface Place {
  readonly url: string;
  readonly call: (method: Method, path: string, options?: CallOptions) => Promise<{ status: number; json?: Json }>;
}

export type LibraryChoices = Partial<Omit<WorkerOptions, 'agent'>> & { readonly agent?: Partial<AgentDefinition> };

/** Whose worker it is. */
interface Owner {
  readonly key: string;
  readonly handle: string;
  readonly token: string;
}

let workers = 0;

/** A worker of our library, in this process, and what its owner sees of it. */
export class LibraryWorker {
  readonly workerId = `wrk_library_${process.pid}_${(workers += 1)}`;
  readonly handle: string;
  readonly token: string;
  /** What it said about itself. */
  readonly lines: string[] = [];
  /** Settles as `serveAgent` does. */
  readonly served: Promise<void>;
  readonly #drain = new AbortController();
  readonly #place: Place;
  readonly #key: string;

  private constructor(place: Place, owner: Owner, onRun: Handler<JsonObject>, choices: LibraryChoices) {
    this.#place = place;
    this.#key = owner.key;
    this.handle = owner.handle;
    this.token = owner.token;
    this.served = serveAgent({
      url: place.url,
      token: this.token,
      workerId: this.workerId,
      onRun,
      signal: this.#drain.signal,
      log: (line) => this.lines.push(line),
      ...choices,
      agent: { id: this.handle, ...choices.agent },
      timing: { ...TENTH, ...choices.timing },
    });
    this.served.catch(() => undefined); // whoever waits for it hears of it
  }

  /** Mints a token and starts a worker; resolves when it takes runs. */
  static async start(
    place: Place,
    key: string,
    onRun: Handler<JsonObject>,
    choices: LibraryChoices = {},
  ): Promise<LibraryWorker> {
    const handle = `library-${process.pid}-${workers}`;
    const { json } = await place.call('POST', '/api/v1/agents/worker-token', { key, body: { agentId: handle } });
    const worker = new LibraryWorker(place, { key, handle, token: json.token }, onRun, choices);
    await eventually(async () => {
      const seen = await worker.see();
      if (seen.state !== 'online' || seen.lights.claim.state !== 'ok') throw new Error(worker.lines.join('\n'));
    });
    return worker;
  }

  /** How the control plane sees it. */
  async see(): Promise<Json> {
    return this.get(`/api/v1/workers/${this.workerId}`);
  }

  async get(path: string): Promise<Json> {
    const { status, json } = await this.#place.call('GET', path, { key: this.#key });
    if (status !== 200) throw new Error(`${path} answered ${status}`);
    return json;
  }

  async post(path: string, body: object): Promise<Json> {
    const { status, json } = await this.#place.call('POST', path, { key: this.#key, body });
    if (status > 299) throw new Error(`${path} answered ${status}: ${JSON.stringify(json)}`);
    return json;
  }

  /** Orders a run and answers its id. */
  async order(input: object = {}): Promise<string> {
    return (await this.post('/api/v1/runs', { agent_id: this.handle, input })).run_id;
  }

  /** The run once it has come to this status. */
  async run(runId: string, status: string): Promise<Json> {
    return eventually(
      async () => {
        const run = await this.get(`/api/v1/runs/${runId}`);
        if (run.status !== status) throw new Error(`it is ${run.status}: ${run.error}\n${this.lines.join('\n')}`);
        return run;
      },
      { within: 45_000 }, // on a busy machine; a test has its own limit
    );
  }

  /** All events of a run, in their order. */
  async events(runId: string): Promise<Json[]> {
    const all: Json[] = [];
    for (let after = 0; ;) {
      const page: Json[] = await this.get(`/api/v1/runs/${runId}/events?limit=1000&after=${after}`);
      if (page.length === 0) return all;
      all.push(...page);
      after = page.at(-1).seq;
    }
  }

  drain(): void {
    this.#drain.abort();
  }

  async stop(): Promise<void> {
    this.drain();
    await this.served.catch(() => undefined);
  }
}
