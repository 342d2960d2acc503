import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type pg from 'pg';
import { connect } from './floor-database.ts';
import { RUN_QUEUED, RunQueue } from './run-queue.ts';

/**
 * Floor of invoke → doorbell → claim → start: one statement inserts and notifies, a listener writes the notification
 * to an event stream, its reader claims and starts.
 */
export class DoorbellFloor {
  private readonly clients: readonly pg.Client[];
  private readonly server: http.Server;
  private readonly channel: http.IncomingMessage;
  private readonly writer: RunQueue;
  private readonly worker: RunQueue;

  private constructor(clients: readonly pg.Client[], server: http.Server, channel: http.IncomingMessage) {
    const [, writer, worker] = clients;
    if (writer === undefined || worker === undefined) throw new Error('the floor needs three connections');
    this.clients = clients;
    this.server = server;
    this.channel = channel;
    this.writer = new RunQueue(writer, 'caller');
    this.worker = new RunQueue(worker, 'worker');
  }

  static async open(url: string): Promise<DoorbellFloor> {
    const listener = await connect(url);
    const { server, response, channel } = await openChannel();
    await listener.query(`LISTEN ${RUN_QUEUED}`);
    listener.on('notification', ({ payload }) => response.write(`event: frame\ndata: ${payload ?? ''}\n\n`));
    const floor = new DoorbellFloor([listener, await connect(url), await connect(url)], server, channel);
    await floor.writer.create();
    return floor;
  }

  /** From before the insert until the start is committed, `count` times, one after the other, in milliseconds. */
  async measure(count: number): Promise<readonly number[]> {
    const times: number[] = [];
    while (times.length < count) times.push(await this.once());
    return times;
  }

  async close(): Promise<void> {
    this.channel.destroy();
    this.server.closeAllConnections();
    this.server.close();
    await Promise.all(this.clients.map((client) => client.end()));
  }

  private async once(): Promise<number> {
    const doorbell = once(this.channel, 'data');
    const sentAt = performance.now();
    await this.writer.queueAndNotify();
    await doorbell;
    const run = await this.worker.claim();
    if (run === undefined) throw new Error('the doorbell of the floor rang for nothing');
    await this.worker.start(run);
    return performance.now() - sentAt;
  }
}

/** An event stream from this process to itself, as the product's goes from the server to the worker. */
async function openChannel() {
  const server = http.createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const opened = once(server, 'request') as Promise<[http.IncomingMessage, http.ServerResponse]>;
  const request = http.get({ host: '127.0.0.1', port, agent: false });
  const [, response] = await opened;
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  const [channel] = (await once(request, 'response')) as [http.IncomingMessage];
  return { server, response, channel };
}
