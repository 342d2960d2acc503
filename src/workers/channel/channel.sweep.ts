import { Inject, Injectable } from '@nestjs/common';
import { Database } from '../../platform/db/database.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { Channels } from './channel.service.ts';
import { buryChannels } from './channel.store.ts';

/** Behind every poke about channels: tokens that ran out, workers that hang elsewhere by now. */
@Injectable()
export class ChannelSweep implements Sweep {
  readonly name = 'channels.check';
  readonly everyMs = 5_000;

  constructor(
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const before = this.channels.all();
    if (before.length === 0) return { ended: 0 };
    await this.channels.endRevoked();
    if (!this.replica.isAlone) await this.channels.reconcile(this.channels.all());
    return { ended: before.filter(({ closedBy }) => closedBy === 'us').length };
  }
}

/** Closes the channels of replicas that died in the rows of their workers. */
@Injectable()
export class DeadChannelSweep implements Sweep {
  readonly name = 'channels.bury';
  readonly everyMs = 15_000;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    return { buried: await buryChannels(this.database) };
  }
}
