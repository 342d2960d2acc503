import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { Connection } from './connection.ts';

const REQUEST = 'GET / HTTP/1.1\r\nHost: bench\r\n\r\n';
const LONG = 'ü'.repeat(200_000);
const opened: { close(): unknown }[] = [];

afterEach(() => {
  for (const one of opened.splice(0)) one.close();
});

async function connectionTo(server: net.Server): Promise<Connection> {
  opened.push(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const connection = new Connection({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
  opened.push(connection);
  return connection;
}

it('reads answers of a stated length, in chunks and without a body, one after the other on one connection', async () => {
  const answers: ((response: http.ServerResponse) => void)[] = [
    (response) => response.writeHead(200, { 'content-length': Buffer.byteLength(LONG) }).end(LONG),
    (response) => {
      response.write(LONG);
      response.end('end');
    },
    (response) => response.writeHead(202).end(),
    (response) => response.writeHead(204).end(),
  ];
  let connections = 0;
  const server = http.createServer((_request, response) => answers.shift()?.(response));
  server.on('connection', () => (connections += 1));
  const connection = await connectionTo(server);
  expect(await connection.exchange(REQUEST)).toMatchObject({ status: 200, text: LONG });
  expect(await connection.exchange(REQUEST)).toMatchObject({ status: 200, text: `${LONG}end` });
  expect(await connection.exchange(REQUEST)).toMatchObject({ status: 202, text: '' });
  expect(await connection.exchange(REQUEST)).toMatchObject({ status: 204, text: '' });
  expect(connections).toBe(1);
});

it('rejects a request whose connection ends before the answer is whole, and is closed from then on', async () => {
  const server = net.createServer((socket) => {
    socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhal'));
  });
  const connection = await connectionTo(server);
  await expect(connection.exchange(REQUEST)).rejects.toThrow('closed the connection');
  expect(connection.closed).toBe(true);
});
