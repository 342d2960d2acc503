/** The REST interface of the control plane, as far as the demo uses it. */

import { setTimeout as pause } from 'node:timers/promises';
import { serverSentEvents } from '../worker/src/sse.ts';

export interface Usage {
  readonly provider?: string | null;
  readonly model?: string | null;
  readonly input_tokens?: number | null;
  readonly output_tokens?: number | null;
  readonly total_tokens?: number | null;
}

export interface RunSummary {
  readonly run_id: string;
  readonly agent_id: string;
  readonly status: string;
  readonly error: string | null;
  readonly output: { readonly text?: string } | null;
  readonly usage?: Usage;
}

/** One step in the life of a run. */
export interface StatusChange {
  readonly run_id: string;
  readonly status: string;
  readonly at: string;
  readonly worker_id?: string | null;
}

/** One step of the work, without its contents. */
export interface SpanSkeleton {
  readonly span_id: string;
  readonly parent_span_id: string | null;
  readonly kind: string;
  readonly name: string;
  readonly status: string | null;
  readonly duration_ms: number | null;
}

export interface AuditEntry {
  readonly id: string;
  readonly created_at: string;
  readonly category: string;
  readonly action: string;
  readonly status: string;
  readonly actor_type: string;
  readonly actor_principal_id: string | null;
}

/** An event of a run's stream, its data parsed. */
export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
}

/** The control plane answered, and the answer was not a success. */
export class ApiError extends Error {
  readonly status: number;

  constructor(request: string, status: number, answer: string) {
    super(`${request} was answered ${status}: ${answer.slice(0, 500)}`);
    this.name = 'ApiError';
    this.status = status;
  }
}

/** Calls the control plane with one API key. `signal` ends every call. */
export class Api {
  /** Base address of the control plane. */
  readonly url: string;
  readonly #key: string;
  readonly #signal: AbortSignal;

  constructor(url: string, key: string, signal: AbortSignal) {
    this.url = url;
    this.#key = key;
    this.#signal = signal;
  }

  /** Reads one resource. */
  async get<T>(path: string): Promise<T> {
    const response = await this.#call('GET', path);
    return (await response.json()) as T;
  }

  /** Starts or changes something. */
  async post<T>(path: string, body: object): Promise<T> {
    const response = await this.#call('POST', path, body);
    return (await response.json()) as T;
  }

  /** Reads a stream of a run: with a body the invocation of an agent, without one the record of a run. */
  async *stream(path: string, body?: object): AsyncGenerator<StreamEvent> {
    const response = await this.#call(body ? 'POST' : 'GET', path, body);
    for await (const { event, data } of serverSentEvents(response)) yield { event, data: JSON.parse(data) as unknown };
  }

  /** Waits until an agent has a worker that takes runs. */
  async agentOnline(handle: string, patience: number): Promise<void> {
    for (let waited = 0; waited < patience; waited += 200) {
      if ((await this.#statusOf(handle)) === 'online') return;
      await pause(200, undefined, { signal: this.#signal });
    }
    throw new Error(`the agent ${handle} did not come online within ${patience / 1_000} s`);
  }

  /** An agent exists from the moment its first worker registers; before that it is simply not there. */
  async #statusOf(handle: string): Promise<string | undefined> {
    try {
      return (await this.get<{ status: string }>(`/agents/${handle}`)).status;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  async #call(method: string, path: string, body?: object): Promise<Response> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${this.#key}`, ...(body ? { 'content-type': 'application/json' } : {}) },
      body: body ? JSON.stringify(body) : null,
      signal: this.#signal,
    });
    if (!response.ok) throw new ApiError(`${method} ${path}`, response.status, await response.text());
    return response;
  }
}
