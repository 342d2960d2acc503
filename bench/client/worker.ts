import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { readFrames } from './frame-stream.ts';
import { isObject, JsonClient, objectIn, stringIn, type JsonObject } from './json-client.ts';
import { manifestOf, messageId, NO_SKILLS, noOpEvents } from './payloads.ts';

/** Who the worker is and what it does with a run. */
interface WorkerOptions {
  readonly url: string;
  readonly token: string;
  readonly agent: string;
  /** Whether a run sends five events in one batch before it completes. */
  readonly sendsEvents: boolean;
}

/** When things happened to the run that a worker has just started, on this process's clock. */
export interface StartTimes {
  readonly doorbell: number;
  readonly claimed: number;
  readonly started: number;
}

/** Why a worker claims, and since when it had the reason. */
interface Reason {
  readonly what: 'a run ended' | 'a doorbell' | 'nothing rang';
  readonly at: number;
}

/** How long an idle worker waits for a doorbell before it asks by itself, as every SDK does. */
const POLL_MS = 10_000;

/**
 * A worker that does what the protocol asks of one and nothing else: it holds its channel, answers pings, claims at
 * each doorbell and after each run, and runs one run at a time.
 */
export class BareWorker {
  /** The runs it has executed, in order. */
  readonly executed: string[] = [];
  /** When it started which run; of a run that it started twice, the last time. */
  readonly starts = new Map<string, StartTimes>();
  /** Claims that found nothing. */
  emptyClaims = 0;
  /** Runs that no doorbell announced while the worker was idle. */
  polledRuns = 0;
  /** Rejects when the worker cannot go on; never resolves. */
  readonly failed: Promise<never>;
  private readonly options: WorkerOptions;
  private readonly id = `bench-${randomUUID()}`;
  private readonly client: JsonClient;
  private channel: IncomingMessage | undefined;
  private loop: Promise<void> = Promise.resolve();
  private stopping = false;
  private readonly failure = Promise.withResolvers<never>();
  private rings = 0;
  private rungAt = 0;
  private wake: (() => void) | undefined;
  private start = Promise.withResolvers<StartTimes>();
  private idling = Promise.withResolvers<void>();

  private constructor(options: WorkerOptions) {
    this.options = options;
    this.client = new JsonClient(options.url, options.token);
    this.failed = this.failure.promise;
    this.failed.catch(() => {}); // whoever measures races against it
  }

  /** Opens the channel, registers, and is idle when this resolves. */
  static async join(options: WorkerOptions): Promise<BareWorker> {
    const worker = new BareWorker(options);
    worker.channel = await worker.client.stream(`/api/v1/workers/${worker.id}/channel`);
    worker.channel.once('close', () => worker.fail(new Error('the server closed the channel')));
    worker.channel.on('error', (error) => worker.fail(error));
    readFrames(worker.channel, (frame) => worker.receive(frame));
    await worker.ask('register', { manifest: manifestOf(options.agent), skills: [], skills_hash: NO_SKILLS });
    worker.loop = worker.work().catch((error: unknown) => worker.fail(error));
    await Promise.race([worker.idle(), worker.failed]);
    return worker;
  }

  /** The next run that this worker starts. Ask before it can happen. */
  nextStart(): Promise<StartTimes> {
    return this.start.promise;
  }

  /** Resolves when the worker has nothing to do: its last claim was answered empty. */
  idle(): Promise<void> {
    return this.idling.promise;
  }

  async stop(): Promise<void> {
    this.stopping = true;
    this.wake?.();
    await this.loop;
    this.channel?.destroy();
    this.client.close();
  }

  private async work(): Promise<void> {
    let askedBecauseOf: Reason = { what: 'a run ended', at: performance.now() };
    while (!this.stopping) {
      const job = (await this.ask('run_claim', {}))['job'];
      if (isObject(job)) {
        if (askedBecauseOf.what === 'nothing rang') this.polledRuns += 1;
        this.busy();
        await this.run(job, askedBecauseOf.at);
        askedBecauseOf = { what: 'a run ended', at: performance.now() };
        continue;
      }
      this.emptyClaims += 1;
      if (this.rings === 0) this.idling.resolve();
      askedBecauseOf = await this.nextDoorbell();
    }
  }

  private async run(job: JsonObject, doorbell: number): Promise<void> {
    const claimed = performance.now();
    const runId = stringIn(job, 'run_id');
    objectIn(job, 'input');
    accepted('run_started', await this.ask('run_started', { run_id: runId }));
    const times = { doorbell, claimed, started: performance.now() };
    this.starts.set(runId, times);
    this.start.resolve(times);
    this.start = Promise.withResolvers();
    if (this.options.sendsEvents)
      await this.tell('run_events', { events: noOpEvents(runId) }, { stream: runId, seq: 0 });
    accepted('run_completed', await this.ask('run_completed', { run_id: runId, output: { text: 'done' } }));
    this.executed.push(runId);
  }

  private busy(): void {
    this.idling.resolve();
    this.idling = Promise.withResolvers();
  }

  /** One doorbell is one claim; without any the worker asks after a while. */
  private async nextDoorbell(): Promise<Reason> {
    if (this.rings === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
      this.wake = undefined;
    }
    if (this.rings === 0) return { what: 'nothing rang', at: performance.now() };
    this.rings -= 1;
    return { what: 'a doorbell', at: this.rungAt };
  }

  private receive(frame: JsonObject): void {
    if (frame['type'] === 'work_available') {
      this.rings += 1;
      this.rungAt = performance.now();
      this.wake?.();
    } else if (frame['type'] === 'ping') {
      const { nonce } = objectIn(frame, 'payload');
      const pong = { nonce, sent_at: new Date().toISOString() };
      this.tell('pong', pong, { correlationId: stringIn(frame, 'id') }).catch((error: unknown) => this.fail(error));
    }
  }

  /** Sends a frame that wants a reply, and answers the reply's payload. */
  private async ask(type: string, payload: JsonObject): Promise<JsonObject> {
    const reply = await this.client.call('POST', this.frames, { id: messageId(), type, payload, needsReply: true });
    if (reply['type'] === 'error')
      throw new Error(`${type} was answered with an error: ${JSON.stringify(reply['payload'])}`);
    return objectIn(reply, 'payload');
  }

  /** Sends a frame that wants none. */
  private async tell(type: string, payload: JsonObject, envelope: JsonObject): Promise<void> {
    const answer = await this.client.send('POST', this.frames, { id: messageId(), type, payload, ...envelope });
    if (answer.status !== 202) throw new Error(`${type} was answered ${answer.status} ${JSON.stringify(answer.body)}`);
  }

  private get frames(): string {
    return `/api/v1/workers/${this.id}/frames`;
  }

  private fail(error: unknown): void {
    if (!this.stopping) this.failure.reject(error);
  }
}

function accepted(what: string, state: JsonObject): void {
  if (state['accepted'] !== true) throw new Error(`${what} was declined: ${JSON.stringify(state)}`);
}
