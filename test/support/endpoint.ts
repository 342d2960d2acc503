import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from './app.ts';

export interface Asked {
  readonly method: string;
  readonly params: Json;
  readonly id: string;
  /** Answers with a result; other answers are up to the test. */
  readonly result: (result: object) => void;
  readonly response: http.ServerResponse;
}

/** Where a worker would be dialled: keeps what was asked, and answers as the test says. */
export class StubEndpoint {
  readonly asked: Asked[] = [];
  url = '';
  private readonly server: http.Server;

  private constructor(private readonly answer: (asked: Asked) => void) {
    this.server = http.createServer((request, response) => void this.take(request, response));
  }

  static async start(answer: (asked: Asked) => void, port = 0): Promise<StubEndpoint> {
    const endpoint = new StubEndpoint(answer);
    await endpoint.listen(port);
    return endpoint;
  }

  async listen(port = Number(new URL(this.url).port)): Promise<void> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
    this.url = `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    if (!this.server.listening) return;
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  of(method: string): Asked[] {
    return this.asked.filter((one) => one.method === method);
  }

  private async take(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const body = JSON.parse(Buffer.concat(await request.toArray()).toString('utf8'));
    const result = (value: object): void => {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id: body.id, result: value }));
    };
    const asked = { method: body.method, params: body.params, id: body.id, result, response };
    this.asked.push(asked);
    this.answer(asked);
  }
}

/** What SDK 0.1 answers a run with that succeeded. */
export function answerMessage(data: object, metadata: object = {}): object {
  const parts = [{ kind: 'data', data }];
  return { kind: 'message', role: 'agent', messageId: 'resp', parts, metadata };
}

/** A task as it stands. */
export function taskIn(state: string, text?: string): object {
  const message = { kind: 'message', role: 'agent', messageId: 'm', parts: [{ kind: 'text', text }] };
  return { kind: 'task', id: 't', contextId: 'c', status: { state, ...(text === undefined ? {} : { message }) } };
}
