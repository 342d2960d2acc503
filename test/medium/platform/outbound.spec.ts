import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  Outbound,
  OutboundFailure,
  systemResolve,
  type OutboundCall,
  type Resolve,
} from '../../../src/platform/outbound/outbound.ts';

const LOCAL = ['127.0.0.1'];
const servers: net.Server[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if (server instanceof http.Server) server.closeAllConnections();
    server.close();
  }
});

/** A peer on this machine, and where it is. */
async function serve(answer: http.RequestListener | ((socket: net.Socket) => void), raw = false): Promise<string> {
  const server = raw ? net.createServer(answer as never) : http.createServer(answer as http.RequestListener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function call(
  url: string,
  more: Partial<OutboundCall> = {},
  { allow = LOCAL, resolve = systemResolve }: { readonly allow?: readonly string[]; readonly resolve?: Resolve } = {},
) {
  const outbound = new Outbound({ outboundAllow: [...allow] }, resolve);
  return outbound.call({ url, method: 'POST', body: '{}', withinMs: 5_000, mostBytes: 1_000_000, ...more });
}

async function failure(work: Promise<unknown>): Promise<OutboundFailure> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(OutboundFailure);
  return error as OutboundFailure;
}

const always =
  (...addresses: readonly string[]): Resolve =>
  () =>
    Promise.resolve(addresses.map((address) => ({ address, family: net.isIP(address) })));

describe('an outbound call', () => {
  it('brings method, path, body and what was answered', async () => {
    const url = await serve((request, response) => {
      void answerWithAll(request, response);
    });
    const { status, headers, body } = await call(`${url}/a2a?x=1`, { body: '{"a":"ü"}' });
    expect([status, headers['x-kind']]).toEqual([201, 'test']);
    expect(JSON.parse(body.toString())).toEqual(['POST', '/a2a?x=1', url.slice('http://'.length), '{"a":"ü"}']);
  });

  it('reaches none of these without being allowed to, and nothing arrives', async () => {
    let arrived = 0;
    const { port } = new URL(await serve(() => (arrived += 1), true));
    const forms = ['127.0.0.1', '2130706433', '0177.0.0.1', '0x7f.1', '127.1', '[::ffff:127.0.0.1]', 'localhost'];
    for (const form of forms) {
      for (const scheme of ['http', 'https']) {
        expect((await failure(call(`${scheme}://${form}:${port}/`, {}, { allow: [] }))).at).toBe('excluded');
      }
    }
    expect(arrived).toBe(0);
  });

  it('asks for a name once, and goes to the address that was checked', async () => {
    const url = new URL(await serve((request, response) => void response.end(request.headers.host)));
    let asked = 0;
    const flips: Resolve = () => {
      asked += 1;
      return Promise.resolve([{ address: asked === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]);
    };
    const { body } = await call(`http://worker.example:${url.port}/`, {}, { resolve: flips });
    expect([body.toString(), asked]).toEqual([`worker.example:${url.port}`, 1]);
  });

  it('does not go to a name that flipped to a private address, nor to one that has both', async () => {
    let arrived = 0;
    const { port } = new URL(await serve(() => (arrived += 1), true));
    for (const addresses of [['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::1'], ['::ffff:7f00:1'], []]) {
      const resolve = always(...addresses);
      const { at } = await failure(call(`https://worker.example:${port}/`, {}, { allow: [], resolve }));
      expect(at).toBe('excluded');
    }
    expect(arrived).toBe(0);
  });

  it('names the host that it means to TLS, and trusts no certificate but the name’s', async () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    const listen = (socket: net.Socket) =>
      socket.once('data', (hello) => (resolve(hello.toString('latin1')), socket.end()));
    const { port } = new URL(await serve(listen, true));
    const { at } = await failure(call(`https://worker.example:${port}/`, {}, { resolve: always('127.0.0.1') }));
    expect(await promise).toContain('worker.example');
    expect(at).toBe('unsent');
  });

  it('follows no redirect', async () => {
    const url = await serve((_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end(),
    );
    expect((await call(url)).status).toBe(302);
  });

  it('that is refused was not sent', async () => {
    const url = await serve(() => {}, true);
    servers.splice(0).forEach((server) => server.close());
    const { at, message } = await failure(call(url));
    expect([at, message]).toEqual(['unsent', 'the connection was refused']);
  });

  it('is not sent when the caller takes it back at the last moment', async () => {
    let bytes = 0;
    const url = await serve((socket: net.Socket) => void socket.on('data', (chunk) => (bytes += chunk.length)), true);
    expect((await failure(call(url, { maySend: () => Promise.resolve(false) }))).at).toBe('withdrawn');
    expect((await failure(call(url, { maySend: () => Promise.reject(new Error('no database')) }))).at).toBe('unsent');
    expect(bytes).toBe(0);
  });

  it.each<[string, (socket: net.Socket) => void]>([
    ['says nothing', () => {}],
    ['says its head a byte at a time', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\nx-long: '.padEnd(10_000, 'x'))],
    ['never ends its body', (socket) => drip(socket, 'HTTP/1.1 200 OK\r\n\r\n'.padEnd(10_000, 'x'))],
    ['keeps saying that it continues', (socket) => drip(socket, 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(400), 25)],
  ])('ends in time with a peer that %s', async (_what, behave) => {
    const url = await serve(behave, true);
    const begun = performance.now();
    const { at, message } = await failure(call(url, { withinMs: 500 }));
    expect([at, message]).toEqual(['lost', 'its time was over']);
    expect(performance.now() - begun).toBeLessThan(2_000);
  });

  it('reads an endless body only up to its limit', async () => {
    let sent = 0;
    const url = await serve((_request, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk)) sent += chunk.length;
      };
      response.on('drain', pour);
      pour();
    });
    const { at, message } = await failure(call(url, { mostBytes: 200_000 }));
    expect([at, message]).toEqual(['lost', 'its answer is larger than 200000 bytes']);
    expect(sent).toBeLessThan(50_000_000);
  });

  it.each<[string, string]>([
    ['garbage', '\0\x01\x02 not HTTP at all\r\n\r\n'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
    ['less than it promised', 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab'],
    ['another protocol', 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'],
    ['nothing', ''],
  ])('whose peer answers %s is lost', async (_what, text) => {
    const url = await serve((socket: net.Socket) => void socket.once('data', () => socket.end(text)), true);
    expect((await failure(call(url))).at).toBe('lost');
  });

  it('is made again only where that was asked for, and not for ever', async () => {
    let arrived = 0;
    const url = await serve((_request, response) => void ((arrived += 1), response.writeHead(503).end()));
    expect((await call(url)).status).toBe(503);
    expect(arrived).toBe(1);
    expect((await call(url, { tries: 3 })).status).toBe(503);
    expect(arrived).toBe(4);
  });

  it('ends when its caller goes', async () => {
    const url = await serve(() => {}, true);
    const leaving = new AbortController();
    setTimeout(() => leaving.abort(), 100);
    expect((await failure(call(url, { signal: leaving.signal }))).at).toBe('lost');
  });
});

async function answerWithAll(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const body = Buffer.concat(await request.toArray()).toString();
  response.setHeader('x-kind', 'test').writeHead(201);
  response.end(JSON.stringify([request.method, request.url, request.headers.host, body]));
}

function drip(socket: net.Socket, text: string, size = 1): void {
  let at = 0;
  const timer = setInterval(() => socket.write(text.slice(at, (at += size))), 5);
  socket.on('close', () => clearInterval(timer)).on('error', () => {});
}
