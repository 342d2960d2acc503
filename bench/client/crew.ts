import type { Product } from '../stage/product.ts';
import { JsonClient, stringIn } from './json-client.ts';
import { RUN_INPUT } from './payloads.ts';
import { BareWorker } from './worker.ts';

/** A handle of its own for the bench. */
const AGENT = 'bench';

/** Workers of one agent, and the callers that keep them busy. */
export class Crew {
  readonly workers: readonly BareWorker[];
  private readonly caller: JsonClient;

  private constructor(caller: JsonClient, workers: readonly BareWorker[]) {
    this.caller = caller;
    this.workers = workers;
  }

  /** Mints a worker token and lets `size` workers join. */
  static async join(product: Product, size: number, sendsEvents: boolean): Promise<Crew> {
    const caller = new JsonClient(product.url, product.apiKey);
    const minted = await caller.call('POST', '/api/v1/agents/worker-token', { agentId: AGENT });
    const options = { url: product.url, token: stringIn(minted, 'token'), agent: AGENT, sendsEvents };
    const workers: BareWorker[] = [];
    while (workers.length < size) workers.push(await BareWorker.join(options));
    return new Crew(caller, workers);
  }

  /** Asks for a run and waits until it has ended well. */
  async invoke(): Promise<string> {
    const answer = await this.caller.call('POST', `/api/v1/agents/${AGENT}/invoke`, { input: RUN_INPUT });
    if (answer['status'] !== 'succeeded') throw new Error(`an invoke ended badly: ${JSON.stringify(answer)}`);
    return stringIn(answer, 'run_id');
  }

  /** `work`, or the failure of any worker meanwhile. */
  whileHealthy<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, ...this.workers.map(({ failed }) => failed)]);
  }

  async leave(): Promise<void> {
    await Promise.all(this.workers.map((worker) => worker.stop()));
    this.caller.close();
  }

  /** A count over all workers. */
  total(of: (worker: BareWorker) => number): number {
    return this.workers.reduce((sum, worker) => sum + of(worker), 0);
  }
}
