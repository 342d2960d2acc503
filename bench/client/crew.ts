import type { Product } from '../stage/product.ts';
import { JsonClient, stringIn } from './json-client.ts';
import { RUN_INPUT } from './payloads.ts';
import { BareWorker, type StartTimes } from './worker.ts';

/** What a crew is. */
interface CrewOptions {
  readonly size: number;
  readonly sendsEvents: boolean;
  /** The handle of its agent; one of its own for the bench where only one is needed. */
  readonly agent?: string;
  /** Its token, where it has workers already: a new one would shut them out. */
  readonly token?: string;
}

/** Workers of one agent, and the callers that keep them busy. */
export class Crew {
  readonly workers: readonly BareWorker[];
  private readonly caller: JsonClient;
  private readonly agent: string;

  private constructor(caller: JsonClient, agent: string, workers: readonly BareWorker[]) {
    this.caller = caller;
    this.agent = agent;
    this.workers = workers;
  }

  /** Mints a worker token and lets `size` workers join. */
  static async join(
    product: Product,
    { size, sendsEvents, agent = 'bench', token: given }: CrewOptions,
  ): Promise<Crew> {
    const caller = new JsonClient(product.url, product.apiKey);
    const token = given ?? (await mintToken(caller, agent));
    const options = { url: product.url, token, agent, sendsEvents };
    const workers: BareWorker[] = [];
    while (workers.length < size) workers.push(await BareWorker.join(options));
    return new Crew(caller, agent, workers);
  }

  /** Asks for a run and waits until it has ended well. */
  invoke(): Promise<string> {
    return invoke(this.caller, this.agent);
  }

  /** `work`, or the failure of any worker meanwhile. */
  whileHealthy<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, ...this.workers.map(({ failed }) => failed)]);
  }

  async leave(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    this.caller.close();
  }

  /** When any of the workers started a run. */
  startOf(runId: string): StartTimes | undefined {
    return this.workers.flatMap(({ starts }) => starts.get(runId) ?? [])[0];
  }

  /** A count over all workers. */
  total(of: (worker: BareWorker) => number): number {
    return this.workers.reduce((sum, worker) => sum + of(worker), 0);
  }
}

/** Makes an agent's worker token, in place of the one it may have. */
export async function mintToken(caller: JsonClient, agent: string): Promise<string> {
  return stringIn(await caller.call('POST', '/api/v1/agents/worker-token', { agentId: agent }), 'token');
}

/**
 * Asks an agent for a run, waits for its end and answers its id.
 * @throws Error when it ended otherwise than well.
 */
export async function invoke(caller: JsonClient, agent: string): Promise<string> {
  const answer = await caller.call('POST', `/api/v1/agents/${agent}/invoke`, { input: RUN_INPUT });
  if (answer['status'] !== 'succeeded') throw new Error(`an invoke ended badly: ${JSON.stringify(answer)}`);
  return stringIn(answer, 'run_id');
}
