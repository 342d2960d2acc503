import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { WorkerConfigFrames } from './config.service.ts';
import { outdatedOn } from './config.store.ts';

/** Jobs carry the versions too, so nothing hangs on a poke that was lost. */
const SELDOM = 5;

/** Behind the poke about a configuration: workers here that hold an older one. */
@Injectable()
export class WorkerConfigSweep implements Sweep {
  readonly name = 'workers.config';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(WorkerConfigFrames) private readonly configs: WorkerConfigFrames,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000 * SELDOM;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    this.configs.tell(await outdatedOn(this.database, this.replica.id));
    return {};
  }
}
