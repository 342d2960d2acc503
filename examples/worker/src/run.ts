/** One run as its handler sees it: what was asked, whether it is still wanted, and ways to say how it goes. */

import { AsyncLocalStorage } from 'node:async_hooks';
import type { Approval, ApprovalRequest, Questions } from './approvals.ts';
import type { WorkerConfig } from './config.ts';
import { ApprovalRefused } from './errors.ts';
import type { RunEvents } from './events.ts';
import { newId, type FrameLink } from './frames.ts';
import { parseSecrets, type Job, type Secrets } from './job.ts';
import { isObject, present, type JsonObject } from './json.ts';

export type LogLevel = 'debug' | 'info' | 'warning' | 'error';
export type MessageType = 'progress' | 'tool_call' | 'data' | 'draft' | 'finalizing';
export type SpanKind = 'agent' | 'llm' | 'tool' | 'chain' | 'generation';

/** Tokens and money so far, as a running total (worker-protocol §11). */
export interface Usage {
  readonly provider?: string;
  readonly model?: string;
  /** Without those that came from a cache. */
  readonly inputTokens?: number;
  readonly cachedInputTokens?: number;
  readonly cacheWriteInputTokens?: number;
  readonly outputTokens?: number;
  readonly totalTokens?: number;
  readonly costAmount?: number;
  /** ISO 4217, such as `USD`. */
  readonly currency?: string;
  readonly costSource?: 'reported' | 'estimated';
}

/** A span that is open: a step of the run with a beginning and an end. */
export interface Span {
  readonly id: string;
  /** Sets what the step brought; it is recorded when the span ends. */
  result(payload: JsonObject): void;
}

export interface ArtifactOptions {
  /** `text/plain` unless said; `application/octet-stream` for bytes. */
  readonly mimeType?: string;
  /** Overwrites the artifact that has this id, and that this worker wrote. */
  readonly artifactId?: string;
}

/** What a run needs of its worker. */
export interface RunContext {
  readonly link: FrameLink;
  readonly events: RunEvents;
  readonly questions: Questions;
  readonly config: WorkerConfig;
  readonly signal: AbortSignal;
}

/** What a handler set beside its output. */
export interface Aside {
  readonly usage?: JsonObject;
  readonly snapshot?: JsonObject;
  readonly diagnostics?: JsonObject;
}

/**
 * What a handler is called with. Everything it says is evidence, kept in order. Each method that says something returns a
 * promise that resolves at once while the control plane keeps up; awaiting it slows a handler down that says more than
 * can be taken, and not awaiting it loses nothing but memory.
 */
export class Run<Input extends object = JsonObject> {
  readonly runId: string;
  readonly attempt: number | undefined;
  /** What was asked; the control plane has checked it against the agent's schema before the run existed. */
  readonly input: Input;
  /** What the agent is bound to, for this run. In no environment and no log; the control plane masks what comes back. */
  readonly secrets: Secrets;
  /** What an earlier run of the session left with `setSnapshot`; undefined for a first one. */
  readonly snapshot: JsonObject | undefined;
  readonly threadId: string | undefined;
  /** The run that asked for this one. */
  readonly parentRunId: string | undefined;
  readonly origin: Job['origin'];
  readonly requestId: string | undefined;
  readonly traceparent: string | undefined;
  readonly deadline: Date | undefined;
  /** The configuration when the run began. */
  readonly config: WorkerConfig;
  /** Aborted when the run is cancelled, or the worker must leave. Pass it on to whatever takes time. */
  readonly signal: AbortSignal;
  readonly #context: RunContext;
  readonly #goldenRunId: string | undefined;
  /** The span that the code now running stands in. It follows the code through `await`, also in parallel branches. */
  readonly #span = new AsyncLocalStorage<string>();
  #text = '';
  #aside: Aside = {};

  /** @internal */
  constructor(job: Job, context: RunContext) {
    const { agentops_replay: replay, ...input } = job.input;
    this.runId = job.runId;
    this.attempt = job.attempt;
    this.input = input as Input;
    this.secrets = job.secrets;
    this.snapshot = job.snapshot;
    this.threadId = job.threadId;
    this.parentRunId = job.parentRunId;
    this.origin = job.origin;
    this.requestId = job.requestId;
    this.traceparent = job.traceparent;
    this.deadline = job.deadline;
    this.config = context.config;
    this.signal = context.signal;
    this.#context = context;
    this.#goldenRunId = isObject(replay) ? String(replay['golden_run_id']) : undefined;
  }

  /** @internal What was set beside the output. */
  get aside(): Aside {
    return this.#aside;
  }

  /** The text of the answer so far, as `append` and `output` have made it. */
  get text(): string {
    return this.#text;
  }

  /** One secret that is a text. @throws Error when this run was handed none of that name. */
  secret(name: string): string {
    const value = this.secrets[name];
    if (typeof value === 'string') return value;
    throw new Error(`this run was handed no secret ${name}: bind the credential to the agent`);
  }

  /** Asks for the secrets that the agent gets on demand. @throws Refused, Unreachable */
  async onDemandSecrets(): Promise<Secrets> {
    const { secrets } = await this.#context.link.report('secrets_request', {}, this.signal);
    return parseSecrets(secrets);
  }

  /** Writes a line to the run's log. */
  async log(level: LogLevel, text: string, attributes: JsonObject = {}): Promise<void> {
    await this.#add('log.created', { level, content: text, payload: attributes });
  }

  /** Says something to whoever watches the run. */
  async message(text: string, type: MessageType = 'progress'): Promise<void> {
    await this.#add('message.created', { content: text, message_type: type });
  }

  /** Shows the answer as far as it goes: all of it so far, not only what is new. A text stands for `{ text }`. */
  async output(partial: string | JsonObject): Promise<void> {
    const payload = typeof partial === 'string' ? { text: partial } : partial;
    if (typeof payload['text'] === 'string') this.#text = payload['text'];
    await this.#add('output.updated', { payload }, 'output');
  }

  /** Appends to the text of the answer. */
  async append(delta: string): Promise<void> {
    await this.output(this.#text + delta);
  }

  /** Tells what the run has used up to now, not since the last time. The last one becomes the usage of the whole run. */
  async usage(usage: Usage): Promise<void> {
    const said = usageToWire(usage);
    this.#aside = { ...this.#aside, usage: said };
    await this.#add('token.created', { payload: said, usage: said });
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
    const span = { id, result: (brought: JsonObject) => void (result = brought) };
    const { events } = this.#context;
    await events.add('span.started', { ...identity, payload });
    try {
      const value = await this.#span.run(id, () => work(span));
      await events.add('span.ended', { ...identity, status: 'ok', payload: result });
      return value;
    } catch (error) {
      await events.add('span.ended', { ...identity, status: 'error', payload: { ...result, error: String(error) } });
      throw error;
    }
  }

  /**
   * Calls a tool, and records the call with its arguments and what came back. In a replay the recorded answer comes back
   * and `work` is not called. @throws Error in a replay of which nothing is recorded for this call.
   */
  async tool<T>(name: string, args: JsonObject, work: (span: Span) => Promise<T>): Promise<T> {
    return this.span(name, 'tool', { args }, async (span) => {
      const result = this.#goldenRunId === undefined ? await work(span) : ((await this.#recorded(name, args)) as T);
      span.result({ tool_response: result ?? null });
      return result;
    });
  }

  /**
   * Asks whether a tool call may be made, and waits for the answer.
   * @throws Refused when the question is not taken, and the reason of `signal` when the run is cancelled meanwhile.
   */
  async approval(request: ApprovalRequest): Promise<Approval> {
    return this.#context.questions.ask(this.runId, request, this.signal);
  }

  /** As `approval`. @throws ApprovalRefused when the call may not be made. */
  async approve(request: ApprovalRequest): Promise<void> {
    const { allowed, state, reason } = await this.approval(request);
    if (!allowed) throw new ApprovalRefused(request.tool, state, reason);
  }

  /**
   * Keeps a text, or bytes, with the run, and answers its id. Repeated until it is kept, and kept once.
   * @throws Refused 413 when it is too large, 409 when the run is not this worker's any more.
   */
  async artifact(name: string, content: string | Uint8Array, options: ArtifactOptions = {}): Promise<string> {
    const isText = typeof content === 'string';
    const { mimeType = isText ? 'text/plain' : 'application/octet-stream', artifactId } = options;
    const payload = present({
      run_id: this.runId,
      attempt: this.attempt,
      name,
      content: isText ? content : Buffer.from(content).toString('base64'),
      mime_type: isText ? mimeType : `${mimeType};base64`,
      artifact_id: artifactId,
    });
    const stored = await this.#context.link.report('artifact_write_request', payload, this.signal);
    return String(stored['artifact_id']);
  }

  /** Leaves the state of the session for the next run of it. Kept when the run ends, however it ends. */
  setSnapshot(snapshot: JsonObject): void {
    this.#aside = { ...this.#aside, snapshot };
  }

  /** Sets what is kept beside the run's end, for whoever looks into it. */
  setDiagnostics(diagnostics: JsonObject): void {
    this.#aside = { ...this.#aside, diagnostics };
  }

  async #recorded(tool: string, args: JsonObject): Promise<unknown> {
    const answer = await this.#context.link.report(
      'replay_answer_request',
      { golden_run_id: this.#goldenRunId, run_id: this.runId, tool_name: tool, tool_input: args },
      this.signal,
    );
    if (answer['source'] === 'recording') return answer['tool_response'];
    throw new Error(`nothing is recorded for this call of ${tool}, and a replay calls nothing`);
  }

  async #add(type: string, fields: JsonObject, replaces?: string): Promise<void> {
    const span = this.#span.getStore();
    const placed = span === undefined ? fields : { span_id: span, ...fields };
    await this.#context.events.add(type, placed, replaces && `${replaces} ${span}`);
  }
}

/** In the wire's names. */
export function usageToWire(usage: Usage): JsonObject {
  return present({
    provider: usage.provider,
    model: usage.model,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_input_tokens: usage.cacheWriteInputTokens,
    output_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    cost_amount: usage.costAmount,
    currency: usage.currency,
    cost_source: usage.costSource,
  });
}
