import { once } from 'node:events';
import net, { type AddressInfo } from 'node:net';

/**
 * Stands between the product and its PostgreSQL, passes everything on, and counts what is asked: each message that has
 * something executed is one statement, BEGIN and COMMIT included. PostgreSQL's own counters are up to ten seconds late,
 * or need a library that a given server may not have loaded.
 */
export class StatementCounter {
  /** Statements so far, over all connections. */
  statements = 0;
  /** What the product is given instead of its database's own address. */
  readonly url: string;
  private readonly server: net.Server;
  private readonly sockets = new Set<net.Socket>();
  private readonly connections = new Set<{ statements: number; answeredBytes: number }>();

  private constructor(server: net.Server, databaseUrl: string) {
    const url = new URL(databaseUrl);
    const target = { host: url.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(url.port || 5432) };
    this.server = server.on('connection', (client) => this.pass(client, net.connect({ ...target, noDelay: true })));
    url.hostname = '127.0.0.1';
    url.port = String((server.address() as AddressInfo).port);
    url.searchParams.set('sslmode', 'disable'); // what is encrypted cannot be counted
    this.url = url.href;
  }

  static async open(databaseUrl: string): Promise<StatementCounter> {
    const server = net.createServer({ noDelay: true });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new StatementCounter(server, databaseUrl);
  }

  /** How many statements of the connection that was answered most, while something ran: sweeps have others, and are answered little. */
  async ofTheLargest(run: () => Promise<unknown>): Promise<number> {
    for (const connection of this.connections) connection.statements = connection.answeredBytes = 0;
    await run();
    const [largest] = [...this.connections].sort((a, b) => b.answeredBytes - a.answeredBytes);
    return largest?.statements ?? 0;
  }

  async close(): Promise<void> {
    this.server.close();
    for (const socket of this.sockets) socket.destroy();
  }

  private pass(client: net.Socket, database: net.Socket): void {
    const counted = { statements: 0, answeredBytes: 0 };
    this.connections.add(counted);
    const reader = new FrontendReader(() => {
      this.statements += 1;
      counted.statements += 1;
    });
    client.on('data', (chunk) => reader.read(chunk)).once('close', () => this.connections.delete(counted));
    database.on('data', ({ length }) => (counted.answeredBytes += length));
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      this.sockets.add(from);
      from.pipe(to);
      from.on('error', () => {}); // 'close' follows
      from.once('close', () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }
}

const EXECUTE = 'E'.charCodeAt(0);
const QUERY = 'Q'.charCodeAt(0);
const LENGTH_BYTES = 4;

/** Follows the messages of a client: a type and a length each, except that the first one, the start, has no type. */
export class FrontendReader {
  private readonly onStatement: () => void;
  private hasStarted = false;
  /** The beginning of a message whose length is not all there. */
  private head: Buffer = Buffer.alloc(0);
  /** Bytes of a message that are still to come and say nothing. */
  private rest = 0;

  constructor(onStatement: () => void) {
    this.onStatement = onStatement;
  }

  read(chunk: Buffer): void {
    let bytes = chunk;
    while (bytes.length > 0) {
      if (this.rest > 0) {
        const skipped = Math.min(this.rest, bytes.length);
        this.rest -= skipped;
        bytes = bytes.subarray(skipped);
        continue;
      }
      const typeBytes = this.hasStarted ? 1 : 0;
      const missing = typeBytes + LENGTH_BYTES - this.head.length;
      this.head = Buffer.concat([this.head, bytes.subarray(0, missing)]);
      bytes = bytes.subarray(missing);
      if (this.head.length < typeBytes + LENGTH_BYTES) return;
      this.begin(this.hasStarted ? this.head[0] : undefined, this.head.readInt32BE(typeBytes));
    }
  }

  private begin(type: number | undefined, length: number): void {
    this.hasStarted = true;
    this.head = Buffer.alloc(0);
    this.rest = length - LENGTH_BYTES;
    if (type === EXECUTE || type === QUERY) this.onStatement();
  }
}
