import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { asSystemWork } from '../../platform/operation/system-work.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { RunMoves } from '../../runs/index.ts';
import { EXPIRED_OUT, EXPIRED_WAITING, type ExpiredRun } from './deadlines.store.ts';

/** Ends runs whose time is over: in the queue, and out with workers, who are told to stop (U-14). */
@Injectable()
export class DeadlineSweep implements Sweep {
  readonly name = 'dispatch.deadlines';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const { queueTtlSeconds, runLimitSeconds } = this.config;
    const waiting = await this.endAll(EXPIRED_WAITING, queueTtlSeconds, (seconds) => ({
      code: 'end.queue_ttl' as const,
      error: `queue_ttl: no worker took it within ${seconds} s`,
    }));
    const out = await this.endAll(EXPIRED_OUT, runLimitSeconds, (seconds) => ({
      code: 'end.run_limit' as const,
      error: `run_limit: it was not finished within ${seconds} s`,
    }));
    return { waiting, out };
  }

  private async endAll(
    text: string,
    seconds: number,
    endOf: (seconds: number) => { readonly code: 'end.queue_ttl' | 'end.run_limit'; readonly error: string },
  ): Promise<number> {
    const runs = await this.database.acrossAccounts<ExpiredRun>({ text, values: [seconds] });
    let ended = 0;
    for (const { account_id: accountId, id: runId, status, seconds: limit } of runs) {
      const end = { ...endOf(limit), detail: { seconds: limit } };
      const hasEnded = await asSystemWork(this.database, 'end a run whose time is over', (ctx) =>
        this.moves.end(ctx, { accountId, runId, from: [status] }, end),
      );
      if (hasEnded) ended += 1;
    }
    return ended;
  }
}
