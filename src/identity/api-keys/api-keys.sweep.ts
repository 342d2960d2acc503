import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';

const BATCH = 1_000;
const FORGET = `
  UPDATE api_key SET sealed = NULL, sealed_key_id = NULL
   WHERE (account_id, id) IN (
     SELECT account_id, id FROM api_key WHERE sealed IS NOT NULL AND created_at <= now() - make_interval(secs => $1)
      ORDER BY created_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING 1`;

/** Deletes the sealed copies of keys whose time is over: what may not be shown any more is not kept either. */
@Injectable()
export class SealedKeySweep implements Sweep {
  readonly name = 'identity.forget_sealed_keys';
  readonly everyMs: number;
  private readonly keptSeconds: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.keptSeconds = config.keyRevealMinutes * 60;
    this.everyMs = Math.min(60_000, this.keptSeconds * 250);
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    let forgotten = 0;
    for (;;) {
      const statement = { text: FORGET, values: [this.keptSeconds] };
      const rows = await this.database.asSystem('forget sealed keys', (system) => system.query(statement));
      forgotten += rows.length;
      if (rows.length < BATCH) return { forgotten };
    }
  }
}
