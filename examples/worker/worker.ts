/**
 * A worker for Signalbox in a few files, with nothing but Node: it opens a channel, registers its agent, asks for work,
 * runs it and reports. One run at a time.
 *
 *     await runWorker({ url, token, agentId: 'hello', name: 'Hello', signal, onRun: async () => ({ text: 'hello' }) });
 *
 * Who knows the Python SDK finds the same protocol here: the wire is `wire_protocol_version` 2.
 */

import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { keepChannel } from './channel.ts';
import { RunEvents } from './events.ts';
import { FrameLink, FrameRefused, isFinal, isObject, type Frame, type JsonObject } from './frames.ts';
import { registration, type AgentDescription } from './manifest.ts';
import { Run, RunFailure, type Job } from './run.ts';

export interface WorkerOptions {
  /** Base address of the control plane, e.g. `http://127.0.0.1:8080`. */
  readonly url: string;
  /** The worker token of the agent. */
  readonly token: string;
  /** The agent's handle. */
  readonly agentId: string;
  /** The agent's name for people. */
  readonly name: string;
  /** Names this process; a fresh one is made when it is absent. */
  readonly workerId?: string | undefined;
  readonly agent?: AgentDescription;
  /** Does the work. What it returns is the run's output; by convention `text` in it is the answer for people. */
  readonly onRun: (run: Run) => Promise<JsonObject>;
  /** Aborting it drains the worker: the run in flight is finished, no other is taken. */
  readonly signal: AbortSignal;
}

const CLAIM_EVERY_MS = 10_000;
const KEEP_ALIVE_EVERY_MS = 45_000;

/**
 * Serves one agent until `signal` is aborted and the run in flight is finished.
 * @throws FrameRefused when the control plane does not take this worker: the token is dead or the manifest refused.
 */
export async function runWorker(options: WorkerOptions): Promise<void> {
  const workerId = options.workerId ?? `wrk_${randomBytes(6).toString('hex')}`;
  const worker = new Worker(options, new FrameLink({ ...options, workerId }));
  await worker.serve();
}

class Worker {
  readonly #options: WorkerOptions;
  readonly #link: FrameLink;
  /** Aborted by the doorbell, which ends the wait for the next claim; each claim hangs up a new one. */
  #doorbell = new AbortController();
  #current: { readonly runId: string; readonly cancel: AbortController } | undefined;

  constructor(options: WorkerOptions, link: FrameLink) {
    this.#options = options;
    this.#link = link;
  }

  async serve(): Promise<void> {
    const { signal } = this.#options;
    const served = new AbortController(); // the channel outlives `signal`: a draining run can still be cancelled
    const channel = keepChannel(this.#link, (frame) => this.#hear(frame), served.signal);
    try {
      await this.#register();
      while (!signal.aborted) {
        this.#doorbell = new AbortController();
        const job = await this.#claim();
        if (job) await this.#execute(job);
        else await sleep(CLAIM_EVERY_MS, AbortSignal.any([signal, this.#doorbell.signal]));
      }
    } finally {
      served.abort();
      await channel;
    }
  }

  /** Tries until it is heard, or until it is refused for good. */
  async #register(): Promise<void> {
    const { agentId, name, agent = {}, signal } = this.#options;
    for (let wait = 1_000; !signal.aborted; wait = Math.min(wait * 2, CLAIM_EVERY_MS)) {
      try {
        await this.#link.ask('register', registration(agentId, name, agent));
        return;
      } catch (error) {
        if (isFinal(error) && !isForgotten(error)) throw error;
        console.error(`worker: ${String(error)}; trying again`);
        await sleep(wait, signal);
      }
    }
  }

  /** Asks for a run. `holds` says which runs this worker still has: none, so whatever it is thought to have is lost. */
  async #claim(): Promise<Job | undefined> {
    try {
      const { job } = await this.#link.ask('run_claim', { holds: [] });
      return parseJob(job);
    } catch (error) {
      if (isForgotten(error)) await this.#register();
      else if (isFinal(error)) throw error;
      else console.error(`worker: ${String(error)}; asking again in ${CLAIM_EVERY_MS / 1_000} s`);
      return undefined;
    }
  }

  async #execute(job: Job): Promise<void> {
    const fence = job.attempt === undefined ? {} : { attempt: job.attempt };
    const identity = { run_id: job.runId, ...fence };
    const cancel = new AbortController();
    const events = new RunEvents(this.#link, job.runId, fence);
    const keepAlive = setInterval(() => void this.#tell('keep_alive', {}), KEEP_ALIVE_EVERY_MS);
    this.#current = { runId: job.runId, cancel };
    try {
      if (!(await this.#report('run_started', identity))) return;
      const run = new Run(job, events, cancel.signal);
      const [type, outcome] = await this.#outcome(run);
      await events.flush();
      await this.#report(type, { ...identity, ...outcome });
    } finally {
      clearInterval(keepAlive);
      this.#current = undefined;
    }
  }

  /** Calls the handler and puts its end into the words of the protocol. */
  async #outcome(run: Run): Promise<['run_completed' | 'run_failed', JsonObject]> {
    try {
      const output: unknown = await this.#options.onRun(run);
      if (run.signal.aborted) return ['run_failed', CANCELLED];
      if (!isObject(output)) return ['run_failed', { error: 'the handler ended without an answer' }];
      return ['run_completed', { output, ...(run.totalUsage ? { usage: run.totalUsage } : {}) }];
    } catch (error) {
      if (run.signal.aborted) return ['run_failed', CANCELLED];
      const diagnostics = error instanceof RunFailure ? { diagnostics: error.diagnostics } : {};
      return ['run_failed', { error: String(error), ...diagnostics }];
    }
  }

  /** Says how the run stands. False when the control plane did not want to hear it: the run is somebody else's now. */
  async #report(type: string, payload: JsonObject): Promise<boolean> {
    try {
      const { accepted, status } = await this.#link.report(type, payload);
      if (accepted === false) console.error(`worker: ${type} was declined, the run is ${String(status)}`);
      return accepted !== false;
    } catch (error) {
      console.error(`worker: ${type} was not heard (${String(error)})`);
      return false;
    }
  }

  /** A frame from the control plane. */
  #hear({ id, type, payload, needsReply }: Frame): void {
    const answer = { correlationId: id };
    if (type === 'work_available') this.#doorbell.abort();
    else if (type === 'cancel') this.#cancel(payload['run_id']);
    else if (type === 'ping') void this.#tell('pong', pong(payload), answer);
    else if (type === 'health_check') void this.#tell('health_report', this.#health(), answer);
    else if (needsReply) void this.#tell('error', { code: 'unsupported_type', retryable: false }, answer);
  }

  #cancel(runId: unknown): void {
    if (this.#current?.runId === runId) this.#current?.cancel.abort(new Error(CANCELLED.error));
  }

  #health(): JsonObject {
    const doing = this.#current ? `is on run ${this.#current.runId}` : 'waits for work';
    return { ok: true, detail: `${this.#options.name} ${doing}.` };
  }

  /** Says something that may get lost: it is only a sign of life, and the next one comes soon. */
  async #tell(type: string, payload: JsonObject, rest: Pick<Frame, 'correlationId'> = {}): Promise<void> {
    try {
      await this.#link.tell(type, payload, rest);
    } catch (error) {
      console.error(`worker: ${type} was not heard (${String(error)})`);
    }
  }
}

const CANCELLED = { error: 'cancelled by the control plane' };

/** The nonce comes back as it was; it tells the control plane which ping was answered, and when that was sent. */
function pong({ nonce, sent_at: pingSentAt }: JsonObject): JsonObject {
  const echo = pingSentAt === undefined ? {} : { ping_sent_at: pingSentAt };
  return { nonce, ...echo, sent_at: new Date().toISOString() };
}

/** 404 means that the control plane does not know this worker (any more): it has to register again. */
function isForgotten(error: unknown): boolean {
  return error instanceof FrameRefused && error.status === 404;
}

function parseJob(job: unknown): Job | undefined {
  if (!isObject(job)) return undefined;
  const { run_id: runId, attempt, input } = job;
  if (typeof runId !== 'string' || !isObject(input)) throw new Error('the assigned job has no run_id or no input');
  return { runId, attempt: typeof attempt === 'number' ? attempt : undefined, input };
}

/** Waits, or returns at once when `signal` is aborted. */
async function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  await pause(milliseconds, undefined, { signal }).catch(() => undefined);
}
