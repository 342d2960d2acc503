import type { Database } from '../db/database.ts';
import type { Sweep, SweepReport, Sweeper } from './sweep.ts';

/** Rows in one statement; `forget` is limited to as many. */
export const RETENTION_BATCH = 1_000;

/** Repeats `forget`, which answers how many it forgot, until fewer than `full` are: then there are none left. Answers how many in all. */
export async function forgetInBatches(forget: () => Promise<number>, full = RETENTION_BATCH): Promise<number> {
  for (let forgotten = 0; ;) {
    const some = await forget();
    forgotten += some;
    if (some < full) return forgotten;
  }
}

export interface Retention {
  readonly name: string;
  /** For the database: what is being done. */
  readonly purpose: string;
  readonly keptSeconds: number;
  /** Forgets the oldest rows that are over, up to RETENTION_BATCH, and returns a row for each; `$1` is how long they are kept. */
  readonly forget: string;
}

/** Forgets what is over, in batches, once a minute or as often as a short time of keeping asks for. */
export abstract class RetentionSweep implements Sweep {
  readonly name: string;
  readonly everyMs: number;
  private readonly database: Database;
  private readonly retention: Retention;

  protected constructor(database: Database, sweeper: Sweeper, retention: Retention) {
    this.database = database;
    this.retention = retention;
    this.name = retention.name;
    this.everyMs = Math.min(60_000, retention.keptSeconds * 250);
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const { purpose, forget, keptSeconds } = this.retention;
    const some = async (): Promise<number> =>
      (await this.database.asSystem(purpose, (system) => system.query({ text: forget, values: [keptSeconds] }))).length;
    return { forgotten: await forgetInBatches(some) };
  }
}
