import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { WorkerActions } from './actions.service.ts';
import { closeOld, workersWithOrders } from './actions.store.ts';

/** Behind the poke about actions: what was not told yet, what nobody answered, and who has left as asked. */
@Injectable()
export class ActionSweep implements Sweep {
  readonly name = 'workers.actions';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(WorkerActions) private readonly actions: WorkerActions,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const { actionSeconds, presenceWindowSeconds, closedLostSeconds } = this.config;
    const closed = await closeOld(this.database, {
      openSeconds: actionSeconds,
      presenceSeconds: presenceWindowSeconds,
      closedSeconds: closedLostSeconds,
    });
    const waiting = await workersWithOrders(this.database, this.replica.id);
    for (const { account_id, worker_id } of waiting) await this.actions.tell(account_id, worker_id);
    return { ...closed };
  }
}
