import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { readFrames } from '../client/frame-stream.ts';
import { isObject, JsonClient, objectIn, stringIn, type JsonObject } from '../client/json-client.ts';
import { manifestOf, messageId, NO_SKILLS } from '../client/payloads.ts';
import type { Conduct, CrowdAgent } from './orders.ts';

/** How long an idle worker waits for a doorbell; and after a registration or a claim that failed, deaf to doorbells. */
const POLL_MS = 10_000;
/** So often in vain: then something else is wrong than a server that has too much to do. */
const REGISTRATIONS = 6;
/** After a channel that was open; doubled with each attempt that fails. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 30_000;

/** What the workers of one process did together. */
export interface Tally {
  claims: number;
  emptyClaims: number;
  pongs: number;
  failures: number;
  lastFailure: string | null;
  readonly taken: string[];
}

/**
 * One of thousands: keeps the habits of a modern SDK's worker (channel, pongs, a claim at each doorbell and every ten
 * seconds, the waits after failures) and outlives its server. It has a connection of its own for what it says, kept alive.
 */
export class QuietWorker {
  isOpen = false;
  /** A claim was answered since the channel was opened. */
  hasAsked = false;
  private readonly agent: CrowdAgent;
  private readonly conduct: Conduct;
  private readonly tally: Tally;
  private readonly client: JsonClient;
  private readonly path: string;
  /** Not registered yet, or with a pong under way: a server that is behind is not asked for more and more connections. */
  private isSilent = true;
  private rings = 0;
  private wake: (() => void) | undefined;
  private readonly askedFirst = Promise.withResolvers<void>();

  constructor(url: string, agent: CrowdAgent, conduct: Conduct, tally: Tally) {
    this.agent = agent;
    this.conduct = conduct;
    this.tally = tally;
    this.client = new JsonClient(url, agent.token);
    this.path = `/api/v1/workers/crowd-${randomUUID()}`;
  }

  /** Opens the channel, and opens it again for ever. Done when it is open for the first time. */
  open(): Promise<void> {
    const first = Promise.withResolvers<void>();
    void this.hang(first.resolve);
    return first.promise;
  }

  /** Registers, again every ten seconds until it is registered, and answers pings from then on. */
  async register(): Promise<void> {
    const manifest = manifestOf(this.agent.handle);
    const once = () => this.ask('register', { manifest, skills: [], skills_hash: NO_SKILLS });
    for (let left = REGISTRATIONS; ; left -= 1) {
      const isRegistered = await (left > 1 ? once().catch(() => undefined) : once());
      if (isRegistered) break;
      await sleep(POLL_MS);
    }
    this.isSilent = false;
  }

  /**
   * Asks for work from now on, the first time at a random moment of the ten seconds, as a crowd does that did not start in
   * one moment. Done when that was answered.
   */
  async work(): Promise<void> {
    void this.askForWork();
    await this.askedFirst.promise;
  }

  private async hang(onOpen: () => void): Promise<never> {
    for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      const wasOpen = await this.channel(onOpen);
      if (wasOpen) wait = FIRST_WAIT_MS;
      await sleep(wait);
    }
  }

  /** One channel until its end. False: it was never open. */
  private async channel(onOpen: () => void): Promise<boolean> {
    const channel = await this.client.stream(`${this.path}/channel`).catch(() => undefined);
    if (channel === undefined) return false;
    const over = new Promise((resolve) => channel.once('close', resolve));
    channel.on('error', () => {}); // 'close' follows
    readFrames(channel, (frame) => this.receive(frame));
    this.isOpen = true;
    onOpen();
    await over;
    this.isOpen = false;
    this.hasAsked = false;
    return true;
  }

  private async askForWork(): Promise<never> {
    await sleep(Math.random() * POLL_MS);
    for (;;) {
      const job = await this.claim();
      if (job === 'failed') await sleep(POLL_MS);
      else if (job === undefined) await this.nextDoorbell();
      else await this.run(stringIn(job, 'run_id')).catch((error: unknown) => this.fail(error));
    }
  }

  private async claim(): Promise<JsonObject | undefined | 'failed'> {
    this.tally.claims += 1;
    try {
      const { job } = await this.ask('run_claim', {});
      this.hasAsked = this.isOpen;
      this.askedFirst.resolve();
      if (isObject(job)) return job;
      this.tally.emptyClaims += 1;
      return undefined;
    } catch (error) {
      this.fail(error);
      return 'failed';
    }
  }

  private async run(runId: string): Promise<void> {
    this.tally.taken.push(runId);
    if (this.conduct === 'never starts it') await forEver();
    await this.ask('run_started', { run_id: runId });
    if (this.conduct === 'never ends it') await forEver();
    await this.ask('run_completed', { run_id: runId, output: { text: 'done' } });
  }

  private async nextDoorbell(): Promise<void> {
    if (this.rings === 0) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, POLL_MS);
        this.wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.rings = Math.max(0, this.rings - 1);
  }

  private receive(frame: JsonObject): void {
    if (frame['type'] === 'work_available') {
      this.rings += 1;
      this.wake?.();
    } else if (frame['type'] === 'ping' && !this.isSilent) {
      const { nonce } = objectIn(frame, 'payload');
      const payload = { nonce, sent_at: new Date().toISOString() };
      const pong = { id: messageId(), type: 'pong', payload, correlationId: stringIn(frame, 'id') };
      this.isSilent = true;
      this.client
        .send('POST', `${this.path}/frames`, pong)
        .then(
          ({ status, body }) => {
            if (status === 202) this.tally.pongs += 1;
            else this.fail(`a pong was answered ${status} ${JSON.stringify(body)}`);
          },
          (error: unknown) => this.fail(error),
        )
        .finally(() => (this.isSilent = false));
    }
  }

  /** @throws Error when the answer is none, or not what the worker hoped for. */
  private async ask(type: string, payload: JsonObject): Promise<JsonObject> {
    const frame = { id: messageId(), type, payload, needsReply: true };
    const answer = objectIn(await this.client.call('POST', `${this.path}/frames`, frame), 'payload');
    if (answer['accepted'] === false) throw new Error(`${type} was declined`);
    return answer;
  }

  private fail(why: unknown): void {
    this.tally.failures += 1;
    this.tally.lastFailure = String(why);
  }
}

/** Until the process is killed. */
function forEver(): Promise<never> {
  return new Promise(() => {});
}
