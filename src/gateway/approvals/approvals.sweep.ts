import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { closeApprovals } from './approvals.store.ts';

/** Writes down what is over: what nobody decided in time, and what nobody waits for any more. */
@Injectable()
export class ApprovalSweep implements Sweep {
  readonly name = 'gateway.approvals';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const { expired, withdrawn, settled } = await closeApprovals(this.database);
    for (const { account_id, id } of [...expired, ...withdrawn])
      this.bus.poke('approval.changed', accountKey(account_id, id));
    return { expired: expired.length, withdrawn: withdrawn.length, settled };
  }
}
