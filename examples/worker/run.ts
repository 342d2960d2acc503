/** One run as its handler sees it: what was asked, whether it is still wanted, and ways to say how it goes. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { RunEvents } from './events.ts';
import { newId, type JsonObject } from './frames.ts';

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
export type MessageType = 'progress' | 'tool_call' | 'data' | 'draft' | 'finalizing';
export type SpanKind = 'agent' | 'llm' | 'tool' | 'chain' | 'generation';

/** Tokens and money so far, as a running total. */
export interface Usage {
  readonly provider?: string;
  readonly model?: string;
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly total_tokens?: number;
  readonly cost_amount?: number;
  readonly currency?: string;
  readonly cost_source?: 'reported' | 'estimated';
}

/** The part of a run_assignment that a handler needs. */
export interface Job {
  readonly runId: string;
  /** Counts the offers of this run; a report that names an older one is declined. */
  readonly attempt: number | undefined;
  readonly input: JsonObject;
}

/** A span that is open: a step of the run with a beginning and an end. */
export interface Span {
  /** Sets what the step brought; it is recorded when the span ends. */
  result(payload: JsonObject): void;
}

/** A failure with details: `diagnostics` are kept with the run, beside its error. */
export class RunFailure extends Error {
  readonly diagnostics: JsonObject;

  constructor(message: string, diagnostics: JsonObject) {
    super(message);
    this.name = 'RunFailure';
    this.diagnostics = diagnostics;
  }
}

/** What a handler is called with. */
export class Run {
  readonly runId: string;
  readonly attempt: number | undefined;
  readonly input: JsonObject;
  /** Aborted when the run is cancelled. Pass it on to whatever takes time. */
  readonly signal: AbortSignal;
  readonly #events: RunEvents;
  /** The span that the code now running stands in. It follows the code through `await`, also in parallel branches. */
  readonly #span = new AsyncLocalStorage<string>();
  #usage: Usage | undefined;

  constructor(job: Job, events: RunEvents, signal: AbortSignal) {
    this.runId = job.runId;
    this.attempt = job.attempt;
    this.input = job.input;
    this.signal = signal;
    this.#events = events;
  }

  /** The last usage that was told; it becomes the usage of the whole run. */
  get totalUsage(): Usage | undefined {
    return this.#usage;
  }

  /** Writes a line to the run's log. */
  log(level: LogLevel, text: string, attributes: JsonObject = {}): void {
    this.#add('log.created', { level, content: text, payload: attributes });
  }

  /** Says something to whoever watches the run. */
  message(text: string, type: MessageType = 'progress'): void {
    this.#add('message.created', { content: text, message_type: type });
  }

  /** Shows the answer as far as it goes: all of the text so far, not only what is new. */
  output(text: string): void {
    this.#add('output.updated', { payload: { text } });
  }

  /** Tells what the run has used up to now. */
  usage(usage: Usage): void {
    this.#usage = usage;
    this.#add('token.created', { payload: usage, usage });
  }

  /**
   * Records `work` as a step of the run. Steps within `work` become its children; a step that throws ends as an error
   * and the exception goes on.
   */
  async span<T>(name: string, kind: SpanKind, payload: JsonObject, work: (span: Span) => Promise<T>): Promise<T> {
    const id = newId('span_');
    const parent = this.#span.getStore();
    const identity = { name, kind, span_id: id, ...(parent === undefined ? {} : { parent_span_id: parent }) };
    let result: JsonObject = {};
    this.#events.add('span.started', { ...identity, payload });
    try {
      const value = await this.#span.run(id, () => work({ result: (brought) => (result = brought) }));
      this.#events.add('span.ended', { ...identity, status: 'ok', payload: result });
      return value;
    } catch (error) {
      this.#events.add('span.ended', { ...identity, status: 'error', payload: { ...result, error: String(error) } });
      throw error;
    }
  }

  #add(type: string, fields: JsonObject): void {
    const span = this.#span.getStore();
    this.#events.add(type, span === undefined ? fields : { span_id: span, ...fields });
  }
}
