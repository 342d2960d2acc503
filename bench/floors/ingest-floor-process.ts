import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import pg from 'pg';
import { cellsOf, columnsOf, INSERT_EVENTS, type FloorEvent } from './event-table.ts';

/** As many as the product has for its accounts. */
const CONNECTIONS = 10;

/** Reads a batch, looks at two fields of each event, stores it in one statement and answers after the commit. */
async function serve(databaseUrl: string): Promise<void> {
  const pool = new pg.Pool({ connectionString: databaseUrl, max: CONNECTIONS });
  const store = async (request: http.IncomingMessage): Promise<number> => {
    const runId = request.url?.split('/').at(-2) ?? '';
    const { events } = JSON.parse(await text(request)) as { readonly events: readonly FloorEvent[] };
    if (!events.every((event) => typeof event.event_id === 'string' && typeof event.event_type === 'string'))
      return 400;
    const values = columnsOf(events.map((event) => cellsOf(runId, event))) as unknown[][];
    await pool.query({ name: 'events', text: INSERT_EVENTS, values });
    return 200;
  };
  const server = http.createServer((request, response) => {
    void store(request).then(
      (status) => response.writeHead(status, { 'content-length': 2 }).end('{}'),
      () => response.writeHead(500, { 'content-length': 0 }).end(),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.send?.((server.address() as AddressInfo).port);
}

process.once('message', (databaseUrl: string) => void serve(databaseUrl));
process.once('disconnect', () => process.exit(0)); // the bench is over, however it ended
