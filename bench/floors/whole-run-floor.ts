import type pg from 'pg';
import { connect } from './floor-database.ts';
import { RunQueue, type ClaimedRun } from './run-queue.ts';

/** Floor of a whole no-op run: five statements, five commits, on as many connections as the product has workers. */
export class WholeRunFloor {
  private readonly clients: readonly pg.Client[];
  private readonly queues: readonly RunQueue[];

  private constructor(clients: readonly pg.Client[]) {
    this.clients = clients;
    this.queues = clients.map((client, index) => new RunQueue(client, `worker-${index}`));
  }

  static async open(url: string, size: number): Promise<WholeRunFloor> {
    const floor = new WholeRunFloor(await Promise.all(Array.from({ length: size }, () => connect(url))));
    await floor.queues[0]?.create();
    return floor;
  }

  /** Runs on all connections at once while `goesOn` says so; answers how many runs went through. */
  async drive(goesOn: () => boolean): Promise<number> {
    const done = await Promise.all(this.queues.map((queue) => repeat(queue, goesOn)));
    return done.reduce((sum, count) => sum + count, 0);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.end()));
  }
}

async function repeat(queue: RunQueue, goesOn: () => boolean): Promise<number> {
  let done = 0;
  while (goesOn()) {
    await queue.queue();
    const run = await claimed(queue);
    await queue.start(run);
    await queue.addEvents(run);
    await queue.complete(run);
    done += 1;
  }
  return done;
}

/**
 * There is a run for each connection, but not always one that this claim can see: another one may have taken the row
 * that was there when the statement began.
 */
async function claimed(queue: RunQueue): Promise<ClaimedRun> {
  for (let attempt = 0; attempt < 1_000; attempt += 1) {
    const run = await queue.claim();
    if (run !== undefined) return run;
  }
  throw new Error('the floor finds no run to claim');
}
