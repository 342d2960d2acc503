import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { readEvents, type StreamEvent } from './events.ts';

/** What a call may carry. A string as `body` goes out as it stands, anything else as JSON. */
export interface CallOptions {
  /** Absent: the client's own key. Null: no credential at all. */
  readonly key?: string | null;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
}

/** The answer; `body` is the parsed JSON, or the text where there is no JSON. */
export interface Answer<Body = unknown> {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Body;
}

/** Where in a run's stream a reader starts, and whether it stays for what is still to come. */
export interface RunStreamOptions {
  readonly after?: number;
  readonly lastEventId?: string;
  readonly follow?: boolean;
}

/** A typed client of the REST interface that belongs to one server and one credential. */
export class RestClient {
  constructor(
    private readonly base: string,
    private readonly key: string,
  ) {}

  /** One request on a connection of its own, and its whole answer. */
  async call<Body = unknown>(method: string, path: string, options: CallOptions = {}): Promise<Answer<Body>> {
    const response = await this.open(method, path, options);
    const text = await readText(response);
    const json = response.headers['content-type']?.includes('json') === true;
    const body = (json && text !== '' ? JSON.parse(text) : text) as Body;
    return { status: response.statusCode ?? 0, headers: response.headers, body };
  }

  /** As `call`, for requests that must succeed: the body alone. */
  async ask<Body>(method: string, path: string, options: CallOptions = {}): Promise<Body> {
    const { status, body } = await this.call<Body>(method, path, options);
    if (status < 200 || status > 299) throw new Error(`${method} ${path} answered ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  /** Invokes an agent and waits for the run's end. */
  async invoke<Body>(agent: string, body: unknown = {}, headers: CallOptions['headers'] = {}): Promise<Answer<Body>> {
    return this.call<Body>('POST', `/api/v1/agents/${agent}/invoke`, { body, headers });
  }

  /** Invokes an agent and follows the run. */
  invokeStream(agent: string, body: unknown = {}): AsyncGenerator<StreamEvent> {
    return this.stream('POST', `/api/v1/agents/${agent}/invoke`, { body, query: { stream: true } });
  }

  /** Reads the record of a run, from the start or from where an earlier reader stopped. */
  runStream(runId: string, { after, lastEventId, follow }: RunStreamOptions = {}): AsyncGenerator<StreamEvent> {
    return this.stream('GET', `/api/v1/runs/${runId}/stream`, {
      query: { ...(after === undefined ? {} : { after }), ...(follow === undefined ? {} : { follow }) },
      headers: lastEventId === undefined ? {} : { 'last-event-id': lastEventId },
    });
  }

  /** Opens an event stream. Leaving the loop over it closes the connection. */
  async *stream(method: string, path: string, options: CallOptions = {}): AsyncGenerator<StreamEvent> {
    const headers = { accept: 'text/event-stream', ...options.headers };
    const response = await this.open(method, path, { ...options, headers });
    try {
      if (response.statusCode !== 200) {
        throw new Error(`${method} ${path} answered ${response.statusCode ?? 0}: ${await readText(response)}`);
      }
      yield* readEvents(response as AsyncIterable<Uint8Array>);
    } finally {
      response.destroy();
    }
  }

  private async open(method: string, path: string, options: CallOptions): Promise<http.IncomingMessage> {
    const url = new URL(this.base + path);
    for (const [name, value] of Object.entries(options.query ?? {})) url.searchParams.set(name, String(value));
    const body =
      typeof options.body === 'string' || options.body === undefined ? options.body : JSON.stringify(options.body);
    const key = options.key === undefined ? this.key : options.key;
    const request = http.request(url, {
      method,
      agent: false, // a connection kept from before a restart would fail the next call
      headers: {
        ...(key === null ? {} : { authorization: `Bearer ${key}` }),
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...options.headers,
      },
    });
    request.end(body);
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    return response;
  }
}

/** Looks again until that does not throw; then what it found, or its last failure. */
export async function eventually<T>(look: () => T | Promise<T>, { within = 10_000 } = {}): Promise<T> {
  const deadline = performance.now() + within;
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(50);
  }
}

/** The value, which has to be there. */
export function present<T>(value: T): NonNullable<T> {
  if (value === undefined || value === null) throw new Error('It is not there');
  return value;
}

async function readText(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
