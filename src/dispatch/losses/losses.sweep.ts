import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { Losses } from './losses.service.ts';

/** Behind the claim, which settles what its own agent has lost: takes away what nobody asks for. */
@Injectable()
export class LossSweep implements Sweep {
  readonly name = 'dispatch.losses';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) config: Config,
    @Inject(Losses) private readonly losses: Losses,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    return { settled: await this.losses.settle() };
  }
}
