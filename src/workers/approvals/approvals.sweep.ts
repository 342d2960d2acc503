import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { WorkerApprovals } from './approvals.service.ts';
import { workersToTell } from './approvals.store.ts';

/** Behind the poke about a decision: the worker that hangs here and was not told. */
@Injectable()
export class WorkerApprovalSweep implements Sweep {
  readonly name = 'workers.approvals';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(WorkerApprovals) private readonly approvals: WorkerApprovals,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const waiting = await workersToTell(this.database, this.replica.id);
    for (const { account_id: accountId, worker_id: workerId } of waiting)
      await this.approvals.tell(accountId, { workerId });
    return {};
  }
}
