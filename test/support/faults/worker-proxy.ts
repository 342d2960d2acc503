import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

/** What becomes of the answer to one request: it passes, the connection is closed instead, or nothing comes any more. */
export type Fate = 'passes' | 'closed' | 'never';

/**
 * Stands between workers and the replicas, as an ingress does, and loses what it is told to lose. Every request reaches
 * the control plane, the first replica that takes its connection.
 */
export class WorkerProxy {
  url = '';
  /** Decides over each answer. */
  fate: () => Fate = () => 'passes';
  /** While it is set, what comes down channels is dropped; requests pass. */
  isHalfOpen = false;
  /** Answers that were swallowed. */
  swallowed = 0;
  private readonly targets: () => readonly string[];
  private readonly server: http.Server;
  private readonly agent = new http.Agent({ keepAlive: false });
  private turn = 0;

  private constructor(targets: () => readonly string[]) {
    this.targets = targets;
    this.server = http.createServer((request, response) => void this.pass(request, response));
    this.server.keepAliveTimeout = 65_000;
  }

  static async before(targets: () => readonly string[]): Promise<WorkerProxy> {
    const proxy = new WorkerProxy(targets);
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    proxy.url = `http://127.0.0.1:${(proxy.server.address() as AddressInfo).port}`;
    return proxy;
  }

  async close(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
    if (this.server.listening) await once(this.server, 'close');
  }

  private async pass(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const answer = await this.forward(request, Buffer.concat(chunks));
      if (request.url?.endsWith('/channel')) this.passChannel(answer, response);
      else await this.passAnswer(answer, response);
    } catch {
      response.destroy();
    }
  }

  /** Asks the replicas in turn until one takes the connection. Whatever breaks later is not repeated. */
  private async forward(request: http.IncomingMessage, body: Buffer): Promise<http.IncomingMessage> {
    const targets = this.targets();
    this.turn += 1;
    for (let step = 0; ; step += 1) {
      const target = targets[(this.turn + step) % targets.length] ?? '';
      try {
        return await this.ask(target, request, body);
      } catch (error) {
        const isRefused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
        if (!isRefused || step + 1 >= targets.length) throw error;
      }
    }
  }

  private async ask(target: string, request: http.IncomingMessage, body: Buffer): Promise<http.IncomingMessage> {
    const { method = 'GET', url = '/', headers } = request;
    const upstream = http.request(target + url, { method, agent: this.agent, headers: withoutHops(headers) });
    const gone = (): void => void upstream.destroy();
    request.socket.once('close', gone);
    upstream.once('close', () => request.socket.off('close', gone));
    upstream.end(body);
    const [answer] = (await once(upstream, 'response')) as [http.IncomingMessage];
    return answer;
  }

  private async passAnswer(answer: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
    const fate = this.fate();
    if (fate !== 'passes') this.swallowed += 1;
    if (fate === 'never') return; // the client hangs up in the end
    if (fate === 'closed') return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
    response.end(Buffer.concat(chunks));
  }

  private passChannel(answer: http.IncomingMessage, response: http.ServerResponse): void {
    if (this.fate() !== 'passes') {
      this.swallowed += 1;
      answer.destroy();
      return void response.destroy();
    }
    response.writeHead(answer.statusCode ?? 502, withoutHops(answer.headers));
    response.flushHeaders();
    answer.on('data', (chunk: Buffer) => this.isHalfOpen || response.write(chunk));
    answer.on('end', () => response.end());
    answer.on('error', () => response.destroy());
    response.on('close', () => answer.destroy());
    response.on('error', () => answer.destroy());
  }
}

/** What concerns one connection only. */
function withoutHops(headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders {
  const { connection: _connection, 'keep-alive': _keepAlive, 'transfer-encoding': _encoding, ...rest } = headers;
  return rest;
}
