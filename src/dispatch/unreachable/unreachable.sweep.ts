import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { asSystemWork } from '../../platform/operation/system-work.ts';
import { RunMoves } from '../../runs/index.ts';
import { Presence } from '../../workers/index.ts';
import { Endpoints } from '../direct/endpoints.service.ts';
import { UNREACHABLE, type UnreachableRun } from '../routing/routing.store.ts';

/**
 * Fails invoked runs whose agent had no assignable worker for the whole of the configured time (contract.md entry,
 * Unreachable). A busy worker is a worker. What was queued by `POST /runs` waits.
 */
@Injectable()
export class UnreachableSweep implements Sweep {
  readonly name = 'dispatch.unreachable';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(Endpoints) private readonly endpoints: Endpoints,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const { invokeUnreachableSeconds, presenceWindowSeconds, claimWindowSeconds, closedLostSeconds } = this.config;
    await this.presence.flush(); // what this replica heard counts, also in its own eyes
    const windows = [invokeUnreachableSeconds, presenceWindowSeconds, claimWindowSeconds, closedLostSeconds];
    const values = [...windows, await this.endpoints.dialable()];
    const runs = await this.database.asSystem('look for unreachable runs', (system) =>
      system.query<UnreachableRun>({ text: UNREACHABLE, values }),
    );
    let failed = 0;
    for (const run of runs) if (await this.fail(run)) failed += 1;
    return { failed };
  }

  private async fail({ account_id: accountId, id: runId, workers, seconds }: UnreachableRun): Promise<boolean> {
    const reason = workers === 0 ? 'no worker of the agent ever registered' : 'no worker of the agent asks for work';
    const error = `unreachable: ${reason}; none was assignable for ${seconds} s`;
    return asSystemWork(this.database, 'fail an unreachable run', (ctx) =>
      this.moves.end(
        ctx,
        { accountId, runId, from: ['queued'] },
        { code: 'end.unreachable', error, detail: { seconds } },
      ),
    );
  }
}
