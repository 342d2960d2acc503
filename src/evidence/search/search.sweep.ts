import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { isOutage } from '../../platform/db/database-errors.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { forgetFirst, indexSome, type Indexed } from './pending.store.ts';

const PURPOSE = 'evidence search';
const EVERY_MS = 2_000;
/** Beside the work of workers: a long queue is worked off over many rounds. */
const ROUND_MS = 1_000;
const RUNS_A_TURN = 10;

/**
 * Puts the words of ended runs into the index, behind the work of workers and not in it. Any number of replicas share the queue. A
 * run that cannot be read is let go of, so that it holds up nobody: it is not found, and the log says so.
 */
@Injectable()
export class SearchSweep implements Sweep {
  readonly name = 'evidence.search';
  readonly everyMs = EVERY_MS;
  private readonly log = new Log('search');

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const until = this.clock.monotonicMs() + ROUND_MS;
    let indexed = 0;
    for (;;) {
      const { taken, done } = await this.turn();
      indexed += done;
      if (taken === 0 || this.clock.monotonicMs() >= until) return indexed > 0 ? { indexed } : {};
    }
  }

  /** Several runs at a time; where one of them cannot be read, one at a time, to see which. */
  private async turn(): Promise<Indexed> {
    for (const runs of [RUNS_A_TURN, 1]) {
      try {
        return await this.database.asSystem(PURPOSE, (system) => indexSome(system, runs));
      } catch (error) {
        if (isOutage(error)) throw error;
        if (runs === 1) await this.letGo(error);
      }
    }
    return { taken: 1, done: 0 };
  }

  private async letGo(error: unknown): Promise<void> {
    const run = await this.database.asSystem(PURPOSE, forgetFirst);
    this.log.warn('a run cannot be searched', { ...run, error: describeError(error) });
  }
}
