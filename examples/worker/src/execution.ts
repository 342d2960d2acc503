/** One run on this worker, from its start to its reported end (worker-protocol §8.3). */

import type { Questions } from './approvals.ts';
import type { ConfigKeeper } from './config.ts';
import { Refused, RunFailure, sentence } from './errors.ts';
import { RunEvents } from './events.ts';
import type { FrameLink } from './frames.ts';
import type { Job } from './job.ts';
import { isObject, type JsonObject } from './json.ts';
import { Run } from './run.ts';

/** Does the work. What it returns is the run's output; a text stands for `{ text }`. */
export type Handler<Input extends object> = (run: Run<Input>) => Promise<JsonObject | string>;

/** What runs of one worker share. */
export interface ExecutionOptions<Input extends object> {
  readonly link: FrameLink;
  readonly questions: Questions;
  readonly config: ConfigKeeper;
  readonly onRun: Handler<Input>;
  readonly log: (line: string) => void;
  /** Called when the token turns out to be dead. */
  readonly onDead: (error: Refused) => void;
}

type End = readonly [type: 'run_completed' | 'run_failed', outcome: JsonObject];

export class Execution<Input extends object> {
  readonly job: Job;
  readonly #options: ExecutionOptions<Input>;
  readonly #abort = new AbortController();
  /** `attempt` marks every frame as this attempt's: a late one of an older attempt is declined. */
  readonly #fence: JsonObject;

  constructor(job: Job, options: ExecutionOptions<Input>) {
    this.job = job;
    this.#options = options;
    this.#fence = job.attempt === undefined ? {} : { attempt: job.attempt };
  }

  /** Aborts the handler's signal; `reason` becomes the run's error. */
  abort(reason: string): void {
    this.#abort.abort(new Error(reason));
  }

  /** Resolves when the end is reported, or nobody wants to hear it. Never rejects. */
  async run(): Promise<void> {
    const { link, questions, config, log } = this.#options;
    const { runId } = this.job;
    const accepted = await this.#report('run_started', {});
    if (!accepted) return;
    await config.follow(this.job.versions);
    const events = new RunEvents({ link, runId, fence: this.#fence, log });
    const context = { link, events, questions, config: config.current, signal: this.#abort.signal };
    const [type, outcome] = await this.#outcome(new Run<Input>(this.job, context));
    await events.flush(); // what was said before the end is there before the end
    await this.#end(type, outcome);
  }

  /** Calls the handler and puts its end into the words of the protocol. */
  async #outcome(run: Run<Input>): Promise<End> {
    const { signal } = run;
    try {
      const output: unknown = await this.#options.onRun(run);
      const { usage: _usage, ...aside } = run.aside; // `run_failed` has none: the last one told counts
      if (signal.aborted) return ['run_failed', { error: sentence(signal.reason), ...aside }];
      if (typeof output === 'string') return ['run_completed', { output: { text: output }, ...run.aside }];
      if (isObject(output)) return ['run_completed', { output, ...run.aside }];
      return ['run_failed', { error: 'the handler ended without an answer', ...aside }];
    } catch (error) {
      const { usage: _usage, ...aside } = run.aside; // `run_failed` has none: the last one told counts
      if (signal.aborted) return ['run_failed', { error: sentence(signal.reason), ...aside }];
      const details = error instanceof RunFailure ? { diagnostics: error.diagnostics } : {};
      return ['run_failed', { error: String(error), ...aside, ...details }];
    }
  }

  /** An answer that cannot be written, or that nobody takes, is a failure that says so: a run without an end would wait. */
  async #end(type: End[0], outcome: JsonObject): Promise<void> {
    try {
      await this.#send(type, outcome);
    } catch (error) {
      const isSendable = type === 'run_completed' && !(error instanceof Refused && error.isAboutToken);
      if (!isSendable) return this.#unheard(type, error);
      const isRefused =
        error instanceof Refused
          ? [413, 422].includes(error.status)
          : error instanceof TypeError || error instanceof RangeError;
      if (!isRefused) return this.#unheard(type, error);
      await this.#report('run_failed', { error: `the answer cannot be reported: ${sentence(error)}` });
    }
  }

  /** Says how the run stands. False when the control plane did not want to hear it: the run is somebody else's now. */
  async #report(type: string, payload: JsonObject): Promise<boolean> {
    try {
      return await this.#send(type, payload);
    } catch (error) {
      this.#unheard(type, error);
      return false;
    }
  }

  async #send(type: string, payload: JsonObject): Promise<boolean> {
    const { link, log } = this.#options;
    const { runId } = this.job;
    const { accepted, status } = await link.report(type, { run_id: runId, ...this.#fence, ...payload });
    if (accepted === false) log(`${type} of ${runId} was declined: the run is ${String(status)}`);
    return accepted !== false;
  }

  #unheard(type: string, error: unknown): void {
    const { log, onDead } = this.#options;
    log(`${type} of ${this.job.runId} was not heard: ${sentence(error)}`);
    if (error instanceof Refused && error.status === 401) onDead(error);
  }
}
