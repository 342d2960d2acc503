import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type pg from 'pg';
import { from as copyFrom } from 'pg-copy-streams';
import { siblingModule } from '../stage/processes.ts';
import { cellsOf, COPY_EVENTS, EVENT_TABLE, type FloorEvent } from './event-table.ts';
import { connect } from './floor-database.ts';

/** Rows that are handed to the stream at once. */
const ROWS_A_CHUNK = 500;

/** Floors of ingest: bare HTTP with one statement a request, in a process of its own, and COPY. */
export class IngestFloor {
  readonly url: string;
  private readonly child: ChildProcess;
  private readonly client: pg.Client;

  private constructor(child: ChildProcess, port: number, client: pg.Client) {
    this.child = child;
    this.client = client;
    this.url = `http://127.0.0.1:${port}`;
  }

  static async start(databaseUrl: string): Promise<IngestFloor> {
    const client = await connect(databaseUrl);
    await client.query(EVENT_TABLE);
    const child = fork(siblingModule(import.meta.filename, 'ingest-floor-process'));
    child.send(databaseUrl);
    const [port] = (await once(child, 'message')) as [number];
    return new IngestFloor(child, port, client);
  }

  /** Stores so many rows by one COPY; answers how many a second. */
  async copy(rows: number, event: FloorEvent): Promise<number> {
    const eventId = `copy_${performance.now()}`;
    const lines = function* (): Generator<string> {
      for (let row = 0; row < rows; row += ROWS_A_CHUNK) {
        const chunk = Array.from({ length: Math.min(ROWS_A_CHUNK, rows - row) }, (_, index) =>
          lineOf(cellsOf('copied', { ...event, event_id: eventId, event_sequence: row + index })),
        );
        yield chunk.join('');
      }
    };
    const startedAt = performance.now();
    await pipeline(Readable.from(lines()), this.client.query(copyFrom(COPY_EVENTS)));
    return (rows * 1_000) / (performance.now() - startedAt);
  }

  async stop(): Promise<void> {
    await this.client.end();
    const exited = once(this.child, 'exit');
    this.child.kill();
    await exited;
  }
}

function lineOf(cells: readonly (string | number | null)[]): string {
  const texts = cells.map((cell) => (cell === null ? '\\N' : String(cell).replaceAll('\\', '\\\\')));
  return `${texts.join('\t')}\n`;
}
