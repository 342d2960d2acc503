import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Json } from '../support/app.ts';

/** A frame in either direction, as it was sent. */
export interface Frame {
  readonly id: string;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly correlationId?: string;
}

/** One request of a worker with its answer. */
export interface Exchange {
  readonly path: string;
  /** What was sent; by REST that is no frame. */
  readonly body: Json;
  readonly frame: Frame;
  readonly headers: http.IncomingHttpHeaders;
  readonly status: number;
  /** Absent where the answer has no body. */
  readonly answer: Frame | undefined;
  readonly milliseconds: number;
  readonly at: number;
}

/** One event channel of a worker. */
export interface Channel {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly openedAt: number;
  /** Every byte that came down, as text. */
  text: string;
  /** When it ended, and whose doing that was. */
  closed: { readonly by: 'worker' | 'server' | 'tap'; readonly at: number } | undefined;
}

/** Stands between workers and the control plane, passes everything on unchanged, and keeps what went over the wire. */
export class WireTap {
  readonly exchanges: Exchange[] = [];
  readonly channels: Channel[] = [];
  private readonly server: http.Server;
  private readonly agent = new http.Agent({ keepAlive: true });
  private readonly sockets = new Set<Socket>();
  private readonly openChannels = new Set<() => void>();
  private refusing = false;
  private holding: ((exchange: Exchange) => Promise<void> | undefined) | undefined;

  private constructor(private readonly target: URL) {
    this.server = http.createServer((request, response) => {
      this.pass(request, response).catch(() => response.destroy()); // what the worker would see: a broken connection
    });
    this.server.on('connection', (socket) => {
      this.sockets.add(socket);
      socket.once('close', () => this.sockets.delete(socket));
    });
  }

  /** Opens a tap before the server at `url`. */
  static async before(url: string): Promise<WireTap> {
    const tap = new WireTap(new URL(url));
    await once(tap.server.listen(0, '127.0.0.1'), 'listening');
    return tap;
  }

  /** What the worker takes for the control plane. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The worker's frames of one type, oldest first. */
  sent(type: string): Exchange[] {
    return this.exchanges.filter(({ frame }) => frame.type === type);
  }

  /** The frames that came down the channels, oldest first. */
  pushed(type?: string): Frame[] {
    const frames = this.channels.flatMap(({ text }) => framesOf(text));
    return type === undefined ? frames : frames.filter((frame) => frame.type === type);
  }

  /** What was sent to addresses that end like this, oldest first. */
  asked(end: RegExp): Exchange[] {
    return this.exchanges.filter(({ path }) => end.test(path));
  }

  /** Keeps such answers from their worker until what this returns is called. */
  hold(isHeld: (exchange: Exchange) => boolean): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.holding = (exchange) => (isHeld(exchange) ? promise : undefined);
    return () => {
      this.holding = undefined;
      resolve();
    };
  }

  /** Cuts every open channel and, until `admitChannels`, refuses new ones. */
  refuseChannels(): void {
    this.refusing = true;
    for (const cut of this.openChannels) cut();
  }

  admitChannels(): void {
    this.refusing = false;
  }

  close(): void {
    this.server.close();
    this.agent.destroy();
    for (const socket of this.sockets) socket.destroy();
  }

  private async pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const isChannel = request.method === 'GET' && request.url?.endsWith('/channel') === true;
    if (isChannel && this.refusing) {
      response.writeHead(503).end();
      return;
    }
    const startedAt = performance.now();
    const body = await readAll(request);
    const upstream = http.request(new URL(request.url ?? '/', this.target), {
      method: request.method,
      headers: { ...request.headers, host: this.target.host },
      agent: isChannel ? false : this.agent,
    });
    response.once('close', () => upstream.destroy());
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [http.IncomingMessage];
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    if (isChannel) await this.follow(answer, response);
    else await this.record(request, { body, startedAt, answer, response });
  }

  private async record(
    request: http.IncomingMessage,
    {
      body,
      startedAt,
      answer,
      response,
    }: { body: Buffer; startedAt: number; answer: http.IncomingMessage; response: http.ServerResponse },
  ): Promise<void> {
    const content = await readAll(answer);
    const at = performance.now();
    const sent: Json = body.length === 0 ? {} : JSON.parse(body.toString('utf8'));
    const exchange: Exchange = {
      path: request.url ?? '',
      body: sent,
      frame: sent as Frame,
      headers: request.headers,
      status: answer.statusCode ?? 0,
      answer: content.length === 0 ? undefined : (JSON.parse(content.toString('utf8')) as Frame),
      milliseconds: at - startedAt,
      at,
    };
    this.exchanges.push(exchange);
    await this.holding?.(exchange);
    response.end(content);
  }

  private async follow(answer: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const channel: Channel = {
      status: answer.statusCode ?? 0,
      headers: answer.headers,
      openedAt: performance.now(),
      text: '',
      closed: undefined,
    };
    this.channels.push(channel);
    const end = (by: 'worker' | 'server' | 'tap') => {
      channel.closed ??= { by, at: performance.now() };
      this.openChannels.delete(cut);
      response.destroy();
      answer.destroy();
    };
    const cut = () => end('tap');
    this.openChannels.add(cut);
    response.once('close', () => end('worker'));
    response.flushHeaders();
    answer.setEncoding('utf8');
    answer.on('data', (chunk: string) => {
      channel.text += chunk;
      response.write(chunk);
    });
    answer.on('error', () => end('server'));
    answer.once('end', () => end('server'));
    await once(response, 'close');
  }
}

function framesOf(text: string): Frame[] {
  const complete = text.split('\n').slice(0, -1); // the last one may still be on its way
  const lines = complete.filter((line) => line.startsWith('data:'));
  return lines.map((line) => JSON.parse(line.slice('data:'.length)) as Frame);
}

async function readAll(stream: http.IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}
