/**
 * A worker for Signalbox with nothing but Node: it registers its agent, opens a channel, asks for work, does it, as many runs
 * at once as it is told to, and reports. The wire is that of the Python SDK, `wire_protocol_version` 2.
 */

import { randomBytes } from 'node:crypto';
import { registration, type AgentDefinition } from './agent.ts';
import { Questions } from './approvals.ts';
import { keepChannel } from './channel.ts';
import { ConfigKeeper } from './config.ts';
import { ConfigurationError, Refused, isFinal, isForgotten, sentence } from './errors.ts';
import { Execution, type Handler } from './execution.ts';
import { FrameLink, waitAfter, type Frame } from './frames.ts';
import { parseJob } from './job.ts';
import type { JsonObject } from './json.ts';
import { TIMING, aborted, pause, type Timing } from './timing.ts';

export interface Health {
  readonly ok: boolean;
  /** One sentence for people. */
  readonly detail?: string;
}

export interface WorkerOptions<Input extends object = JsonObject> {
  /** Base address of the control plane, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The worker token, which says whose worker this is. */
  readonly token: string;
  readonly agent: AgentDefinition;
  readonly onRun: Handler<Input>;
  /** Names this process; a fresh one unless said. Two processes with one id take each other's runs for lost. */
  readonly workerId?: string | undefined;
  /** How many runs at once, from 1 to 100; 1 unless said. */
  readonly maxConcurrent?: number;
  /** Aborting it drains the worker: the runs under way are finished, no other is taken. */
  readonly signal?: AbortSignal;
  /** Aborting it ends the runs under way, too; they are reported as failed. */
  readonly stopSignal?: AbortSignal;
  /** Answers what operators ask about the worker's health. Unless said: it lives, and how many runs it has. */
  readonly health?: () => Promise<Health>;
  /** Takes an action of operators other than `drain_restart`; false, or absent: it is not known here. */
  readonly onAction?: (action: string, params: JsonObject) => Promise<boolean>;
  /** The types of configuration op that `onRun` applies from `run.config`. None unless said. */
  readonly supportedOps?: readonly string[];
  /** Takes a line about the worker itself, never about what is in a run. Standard error unless said. */
  readonly log?: (line: string) => void;
  /** Other times than the usual ones. */
  readonly timing?: Partial<Timing>;
}

/**
 * Serves one agent until it is told to leave, and the runs under way have ended and are reported.
 * @throws ConfigurationError at once when address, token or slots cannot be right.
 * @throws Refused when the control plane does not take this worker: the token is dead, or the manifest refused.
 */
export async function serveAgent<Input extends object = JsonObject>(options: WorkerOptions<Input>): Promise<void> {
  await new Worker(options).serve();
}

/** So many 404 in a row at registration, and there is no control plane at that address. */
const PATIENCE_WITH_404 = 3;
const CANCELLED = 'cancelled by the control plane';

class Worker<Input extends object> {
  readonly #options: WorkerOptions<Input>;
  readonly #slots: number;
  readonly #link: FrameLink;
  readonly #config: ConfigKeeper;
  readonly #questions: Questions;
  readonly #log: (line: string) => void;
  readonly #held = new Map<string, { readonly execution: Execution<Input>; readonly ended: Promise<void> }>();
  /** Aborted when no more runs are taken. */
  readonly #leaving = new AbortController();
  /** Aborted by whatever may have changed that there is work or room for it; each look at the claims hangs up a new one. */
  #doorbell = new AbortController();
  /** Aborted when nothing that this worker says is heard any more; its reason says why. */
  readonly #died = new AbortController();

  constructor(options: WorkerOptions<Input>) {
    const { url, token, workerId = `wrk_${randomBytes(6).toString('hex')}`, maxConcurrent = 1 } = options;
    if (!Number.isInteger(maxConcurrent) || maxConcurrent < 1 || maxConcurrent > 100)
      throw new ConfigurationError(`maxConcurrent is ${maxConcurrent}, and must be a whole number from 1 to 100`);
    const timing = { ...TIMING, ...options.timing };
    const log = options.log ?? ((line: string) => console.error(`worker: ${line}`));
    this.#options = options;
    this.#slots = maxConcurrent;
    this.#log = log;
    this.#link = new FrameLink({ url, token, workerId, timing, log });
    this.#config = new ConfigKeeper({ link: this.#link, supportedOps: options.supportedOps ?? [], log });
    this.#questions = new Questions(this.#link, log);
  }

  async serve(): Promise<void> {
    const { signal, stopSignal } = this.#options;
    const leave = (): void => this.#leave();
    const stop = (): void => this.#stop('the worker was stopped');
    const served = new AbortController(); // the channel outlives the draining: a run can still be cancelled then
    const channel = keepChannel(this.#link, {
      onFrame: (frame) => this.#hear(frame),
      onUnauthorized: () => void this.#sayAlive(),
      onOpen: () => this.#doorbell.abort(), // what rang while there was none was not heard
      log: this.#log,
      signal: served.signal,
    });
    const { keepAliveEvery } = this.#link.timing;
    const keepAlive = setInterval(() => this.#held.size > 0 && void this.#sayAlive(), keepAliveEvery);
    if (signal?.aborted) leave();
    signal?.addEventListener('abort', leave);
    if (stopSignal?.aborted) stop();
    stopSignal?.addEventListener('abort', stop);
    try {
      await this.#register();
      if (!this.#leaving.signal.aborted) await this.#config.read();
      while (!this.#leaving.signal.aborted) await this.#takeWork();
      await this.#drain();
    } finally {
      signal?.removeEventListener('abort', leave);
      stopSignal?.removeEventListener('abort', stop);
      clearInterval(keepAlive);
      served.abort();
      await channel;
    }
    if (this.#died.signal.aborted) throw this.#died.signal.reason;
  }

  /** No more runs are taken. */
  #leave(): void {
    this.#leaving.abort();
    this.#doorbell.abort();
  }

  /** Ends the runs under way, too. */
  #stop(reason: string): void {
    this.#leave();
    for (const { execution } of this.#held.values()) execution.abort(reason);
  }

  /** Tries until it is heard, or until it is refused for good. */
  async #register(): Promise<void> {
    const { agent } = this.#options;
    let strangers = 0;
    for (let failures = 1; !this.#leaving.signal.aborted; failures += 1) {
      try {
        await this.#link.ask('register', registration(agent, this.#slots));
        return;
      } catch (error) {
        strangers = error instanceof Refused && error.status === 404 ? strangers + 1 : 0;
        if (isFinal(error) || strangers >= PATIENCE_WITH_404) throw error;
        this.#log(`not registered: ${sentence(error)}; trying again`);
        await pause(waitAfter(error, failures, this.#link.timing), this.#leaving.signal);
      }
    }
  }

  /** Takes what there is and is room for, then waits until something may have changed. */
  async #takeWork(): Promise<void> {
    this.#doorbell = new AbortController();
    while (this.#held.size < this.#slots && !this.#leaving.signal.aborted) if (!(await this.#claim())) break;
    const { claimEvery } = this.#link.timing;
    const wait = claimEvery * (0.9 + Math.random() / 10); // a thousand workers do not ask in one moment
    await pause(wait, AbortSignal.any([this.#doorbell.signal, this.#leaving.signal]));
  }

  /** Asks for a run. `holds` says which runs this worker has: whatever else it is thought to have is lost and offered again. */
  async #claim(): Promise<boolean> {
    try {
      const { job: assigned } = await this.#link.ask('run_claim', { holds: [...this.#held.keys()] });
      const job = parseJob(assigned);
      if (!job) return false;
      const execution = new Execution(job, {
        link: this.#link,
        questions: this.#questions,
        config: this.#config,
        onRun: this.#options.onRun,
        log: this.#log,
        onDead: (error) => this.#die(error),
      });
      const ended = execution.run().finally(() => {
        this.#held.delete(job.runId);
        this.#doorbell.abort();
      });
      this.#held.set(job.runId, { execution, ended });
      return true;
    } catch (error) {
      if (isForgotten(error)) await this.#registerAgain();
      else if (isFinal(error) && error instanceof Refused) this.#die(error);
      else this.#log(`no work could be asked for: ${sentence(error)}; asking again`);
      return false;
    }
  }

  async #registerAgain(): Promise<void> {
    this.#log('the control plane does not know this worker; registering again');
    try {
      await this.#register();
      this.#doorbell.abort();
    } catch (error) {
      if (error instanceof Refused) this.#die(error);
      else throw error;
    }
  }

  /** A sign of life. With all slots taken nothing else is said, so this is where a dead token shows. */
  async #sayAlive(): Promise<void> {
    try {
      await this.#link.send('keep_alive', {});
    } catch (error) {
      if (error instanceof Refused && error.status === 401) this.#die(error);
      else this.#log(`keep_alive was not heard: ${sentence(error)}`);
    }
  }

  /** Nothing that this worker says is taken any more, so what its runs do is of no use. */
  #die(error: Refused): void {
    if (this.#died.signal.aborted) return;
    this.#died.abort(error);
    this.#stop(sentence(error));
  }

  /** Waits for the runs under way, and says that it leaves. Handlers of a dead token get only a moment. */
  async #drain(): Promise<void> {
    const { drainWithin, abandonWithin } = this.#link.timing;
    const over = new AbortController();
    const all = Promise.all([...this.#held.values()].map(({ ended }) => ended));
    const late = setTimeout(() => this.#stop('the worker had to leave'), drainWithin);
    const announced = this.#announceDraining(over.signal);
    await Promise.race([all, this.#abandoned(over.signal)]);
    clearTimeout(late);
    over.abort();
    const said = new AbortController();
    await Promise.race([announced.finally(() => said.abort()), pause(abandonWithin, said.signal)]);
  }

  /** Resolves some time after the token has died. */
  async #abandoned(over: AbortSignal): Promise<void> {
    await aborted(AbortSignal.any([over, this.#died.signal]));
    await pause(this.#link.timing.abandonWithin, over);
  }

  /** Once it is heard, no doorbell rings here any more. It is only a courtesy: a lost one costs ten seconds. */
  async #announceDraining(over: AbortSignal): Promise<void> {
    while (!this.#died.signal.aborted) {
      try {
        await this.#link.ask('run_claim', { holds: [...this.#held.keys()], draining: true });
        return;
      } catch (error) {
        if (isFinal(error) || over.aborted) return;
        await pause(this.#link.timing.claimEvery, over);
        if (over.aborted) return;
      }
    }
  }

  /** A frame from the control plane. */
  #hear({ id, type, payload, needsReply }: Frame): void {
    const answer = { correlationId: id };
    if (type === 'work_available') this.#doorbell.abort();
    else if (type === 'cancel') this.#held.get(String(payload['run_id']))?.execution.abort(CANCELLED);
    else if (type === 'ping') void this.#link.tell('pong', pong(payload), answer);
    else if (type === 'health_check') void this.#reportHealth(answer);
    else if (type === 'worker_action') void this.#act(payload, answer);
    else if (type === 'action_approval_decided') this.#questions.decided(payload['approval_id']);
    else if (type === 'config_changed') void this.#config.follow({ ...payload, config_version: payload['version'] });
    else if (needsReply)
      void this.#link.tell(
        'error',
        { code: 'unsupported_type', message: `frame type '${type}'`, retryable: false },
        answer,
      );
  }

  async #reportHealth(answer: Pick<Frame, 'correlationId'>): Promise<void> {
    const { agent, health } = this.#options;
    const usual = { ok: true, detail: `${agent.name ?? agent.id} has ${this.#held.size} of ${this.#slots} runs.` };
    try {
      await this.#link.tell('health_report', { ...(health ? await health() : usual) }, answer);
    } catch (error) {
      await this.#link.tell('error', { code: 'handler_error', message: sentence(error), retryable: true }, answer);
    }
  }

  /** `drain_restart` ends this process by and by: what started it starts it again. */
  async #act({ action_id, action, params }: JsonObject, answer: Pick<Frame, 'correlationId'>): Promise<void> {
    const isRestart = action === 'drain_restart';
    const { onAction } = this.#options;
    const asked = { name: String(action), params: (params ?? {}) as JsonObject };
    try {
      const accepted = isRestart || ((await onAction?.(asked.name, asked.params)) ?? false);
      const detail = accepted ? {} : { detail: `${asked.name} is not known here` };
      await this.#link.tell('worker_action_ack', { action_id, accepted, ...detail }, answer);
    } catch (error) {
      await this.#link.tell('worker_action_ack', { action_id, accepted: false, detail: sentence(error) }, answer);
    }
    if (isRestart) this.#leave();
  }
}

/** The nonce comes back as it was; it tells the control plane which ping was answered, and when that was sent. */
function pong({ nonce, sent_at: pingSentAt }: JsonObject): JsonObject {
  const echo = pingSentAt === undefined ? {} : { ping_sent_at: pingSentAt };
  return { nonce, ...echo, sent_at: new Date().toISOString() };
}
