import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { forgetSilent } from './fleet.store.ts';

/** Every process start is a new worker id, so dead ones go by themselves. */
const FORGET_AFTER_DAYS = 7;
const BATCHES = 20;

/** Forgets workers that nothing was heard of for a week. What they did stays with their runs. */
@Injectable()
export class FleetSweep implements Sweep {
  readonly name = 'workers.forget';
  readonly everyMs = 600_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    let forgotten = 0;
    for (let batch = 0; batch < BATCHES; batch += 1) {
      const count = await forgetSilent(this.database, FORGET_AFTER_DAYS);
      forgotten += count;
      if (count === 0) break;
    }
    return { forgotten };
  }
}
