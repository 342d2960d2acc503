import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../config/config.ts';
import { Database } from '../db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../sweep/sweep.ts';

const BATCH = 1_000;
const FORGET = `
  DELETE FROM idempotency_key WHERE ctid IN (
    SELECT ctid FROM idempotency_key WHERE created_at < now() - make_interval(secs => $1) ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

/** Forgets answers whose time is over, so that their keys may be used again. */
@Injectable()
export class IdempotencySweep implements Sweep {
  readonly name = 'operation.forget_answers';
  readonly everyMs: number;
  private readonly keptSeconds: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.keptSeconds = config.idempotencyHours * 3_600;
    this.everyMs = Math.min(60_000, this.keptSeconds * 250);
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    let forgotten = 0;
    for (;;) {
      const rows = await this.database.asSystem('forget answers', (system) =>
        system.query({ text: FORGET, values: [this.keptSeconds] }),
      );
      forgotten += rows.length;
      if (rows.length < BATCH) return { forgotten };
    }
  }
}
