import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EventSink, KEEP_ALIVE_COMMENT, onOneLine, serverSentEvent } from './live-stream.ts';

let server: http.Server;
let opened: (sink: EventSink) => void;
beforeAll(async () => {
  server = http.createServer((_, response) => {
    response.writeHead(200).flushHeaders();
    opened(new EventSink(response));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

describe('a live stream', () => {
  it('reaches its reader event by event, and ends in good order', async () => {
    const { sink, response } = await open();
    sink.write(serverSentEvent('tick', '{"n":1}', 7));
    sink.write(KEEP_ALIVE_COMMENT);
    sink.end(serverSentEvent('bye', '{}'));
    expect(await textOf(response)).toBe(
      'id: 7\nevent: tick\ndata: {"n":1}\n\n: keep-alive\n\nevent: bye\ndata: {}\n\n',
    );
    await until(() => sink.signal.aborted);
  });

  it('says when its reader has left, and takes what is still written without a word', async () => {
    const { sink, response } = await open();
    response.destroy();
    await until(() => sink.signal.aborted);
    sink.write('late');
    sink.end();
    sink.destroy();
    expect(sink.socket?.destroyed ?? true).toBe(true);
  });

  it('F-39: counts what a reader does not take, and can be cut off', async () => {
    const { sink, response } = await open();
    response.pause();
    for (let sent = 0; sent < 1_000 && sink.pendingBytes < 1024 * 1024; sent += 1) {
      sink.write('x'.repeat(64 * 1024));
      await sleep(0);
    }
    expect(sink.pendingBytes).toBeGreaterThanOrEqual(1024 * 1024);
    sink.destroy();
    await until(() => sink.signal.aborted);
    response.destroy();
  });
});

describe('an event on the wire', () => {
  it('stays in one piece for readers that split lines as Python does', () => {
    const data = { text: 'a\u2028b\u2029c\u0085d\ne\u000bf\u000cg\r\n' };
    const event = serverSentEvent('tick', JSON.stringify(data), 'id-1');
    const lines = event.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/); // as str.splitlines() does, whose other breaks JSON escapes
    expect(lines).toEqual(['id: id-1', 'event: tick', expect.stringMatching(/^data: /), '', '']);
    expect(JSON.parse(lines[2]?.slice('data: '.length) ?? '')).toEqual(data);
  });

  it('changes no character of JSON that has none of these breaks', () => {
    const json = JSON.stringify({ text: 'ü 😀 \u0000 \\u2028' });
    expect(onOneLine(json)).toBe(json);
  });
});

async function open(): Promise<{ sink: EventSink; response: http.IncomingMessage }> {
  const sink = new Promise<EventSink>((resolve) => (opened = resolve));
  const { port } = server.address() as AddressInfo;
  const [response] = (await once(http.get({ port, host: '127.0.0.1', agent: false }), 'response')) as [
    http.IncomingMessage,
  ];
  response.on('error', () => {});
  return { sink: await sink, response };
}

async function textOf(response: http.IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
  return text;
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await sleep(5); // jest's timeout is the limit
}
