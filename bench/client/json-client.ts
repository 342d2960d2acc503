import http from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { Connection, type Endpoint } from './connection.ts';

/** A JSON object whose members have not been looked at. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** An answer; `body` is undefined when there is none. */
interface Answer {
  readonly status: number;
  readonly head: string;
  readonly body: unknown;
}

type Method = 'GET' | 'POST' | 'PUT';

/** JSON over kept-alive connections, as many as there are requests at once. */
export class JsonClient {
  private readonly endpoint: Endpoint;
  private readonly authorization: string | undefined;
  private readonly headers: string;
  /** The last one used comes first: its caches are warm. */
  private readonly idle: Connection[] = [];

  constructor(url: string, bearer?: string) {
    const { hostname, port } = new URL(url);
    this.endpoint = { host: hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
    this.authorization = bearer === undefined ? undefined : `Bearer ${bearer}`;
    const authorization = this.authorization === undefined ? '' : `Authorization: ${this.authorization}\r\n`;
    this.headers = `Host: ${hostname}:${port}\r\n${authorization}`;
  }

  /** Sends one request and reads the whole answer. */
  async send(method: Method, path: string, body?: JsonObject): Promise<Answer> {
    const payload = body === undefined ? '' : JSON.stringify(body);
    const content =
      body === undefined ? '' : `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(payload)}\r\n`;
    const connection = this.connection();
    const { status, head, text } = await connection.exchange(
      `${method} ${path} HTTP/1.1\r\n${this.headers}${content}\r\n${payload}`,
    );
    this.idle.push(connection);
    return { status, head, body: text === '' ? undefined : (JSON.parse(text) as unknown) };
  }

  /**
   * Sends one request that must be answered 200 with an object.
   * @throws Error with the answer when it is anything else.
   */
  async call(method: Method, path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = await this.send(method, path, body);
    if (answer.status !== 200 || !isObject(answer.body)) {
      throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)?.slice(0, 500) ?? ''}`);
    }
    return answer.body;
  }

  /** Opens an event stream on a connection of its own. */
  async stream(path: string): Promise<http.IncomingMessage> {
    const { authorization, endpoint } = this;
    const headers = { accept: 'text/event-stream', ...(authorization === undefined ? {} : { authorization }) };
    const request = http.get({ ...endpoint, path, headers, agent: false });
    const response = await new Promise<http.IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).once('error', reject);
    });
    if (response.statusCode !== 200) throw new Error(`GET ${path}: ${response.statusCode} ${await readText(response)}`);
    return response;
  }

  /** Drops the connections that wait for a request. */
  close(): void {
    for (const connection of this.idle) connection.close();
  }

  private connection(): Connection {
    for (let last = this.idle.pop(); last !== undefined; last = this.idle.pop()) if (!last.closed) return last;
    return new Connection(this.endpoint);
  }
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * A member that must be an object.
 * @throws Error when it is not.
 */
export function objectIn(container: JsonObject, name: string): JsonObject {
  const value = container[name];
  if (!isObject(value)) throw new Error(`"${name}" is no object in ${JSON.stringify(container).slice(0, 500)}`);
  return value;
}

/**
 * A member that must be a string.
 * @throws Error when it is not.
 */
export function stringIn(container: JsonObject, name: string): string {
  const value = container[name];
  if (typeof value !== 'string')
    throw new Error(`"${name}" is no string in ${JSON.stringify(container).slice(0, 500)}`);
  return value;
}
