import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { forgetApprovals } from '../../gateway/index.ts';
import { Database } from '../../platform/db/database.ts';
import { PartitionSweep } from '../../platform/db/partitions.ts';
import { forgetInBatches } from '../../platform/sweep/retention.sweep.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { forgetRuns } from '../../runs/index.ts';
import { forgetReplayAnswers } from '../replay/replay.store.ts';
import {
  accountsOf,
  daysBefore,
  forgetSome,
  liveRunsBefore,
  readCuts,
  type Cut,
  type LiveRun,
} from './retention.store.ts';

const PURPOSE = 'retention';

/**
 * Deletes what accounts keep no longer, by the day of the run: evidence first, then the runs. A day of which no account keeps
 * anything is dropped whole; where one does, the rows of the others are deleted in small statements. Runs that have not ended stay
 * with all that belongs to them.
 */
@Injectable()
export class EvidenceRetentionSweep implements Sweep {
  readonly name = 'evidence.retention';
  readonly everyMs: number;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(PartitionSweep) private readonly partitions: PartitionSweep,
    @Inject(Sweeper) sweeper: Sweeper,
    @Inject(CONFIG) config: Config,
  ) {
    this.everyMs = config.retentionSweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const cuts = await this.database.asSystem(PURPOSE, readCuts);
    const last = cuts
      .flatMap(({ evidence_from: from }) => from ?? [])
      .toSorted()
      .at(-1);
    if (last === undefined) return {};
    const [days, live] = await Promise.all([
      this.database.asSystem(PURPOSE, (system) => daysBefore(system, last)),
      this.database.asSystem(PURPOSE, (system) => liveRunsBefore(system, last)),
    ]);
    const whole: string[] = [];
    let rows = 0;
    for (const day of days) {
      const there = await this.database.asSystem(PURPOSE, (system) => accountsOf(system, day));
      const over = there.filter((id) => isOver(cuts, id, day));
      const kept = live.filter((run) => run.day === day);
      if (over.length === there.length && kept.length === 0) whole.push(day);
      else for (const id of over) rows += await this.forget(id, day, kept);
    }
    const partitions = await this.partitions.drop(whole);
    return { partitions, rows, runs: await this.forgetRuns(cuts) };
  }

  private async forget(accountId: string, day: string, live: readonly LiveRun[]): Promise<number> {
    const except = live.map(({ id }) => id);
    return this.whileSome((system) => forgetSome(system, accountId, day, except));
  }

  private async forgetRuns(cuts: readonly Cut[]): Promise<number> {
    let runs = 0;
    for (const { account_id: id, runs_from: from } of cuts) {
      if (from === null) continue;
      runs += await this.whileSome((system) => forgetRuns(system, id, from));
      for (const forget of [forgetApprovals, forgetReplayAnswers])
        // what belongs to runs that are gone
        await this.whileSome((system) => forget(system, id, from));
    }
    return runs;
  }

  private whileSome(forget: Parameters<typeof this.database.asSystem<number>>[1]): Promise<number> {
    return forgetInBatches(() => this.database.asSystem(PURPOSE, forget), 1);
  }
}

function isOver(cuts: readonly Cut[], accountId: string, day: string): boolean {
  const from = cuts.find((cut) => cut.account_id === accountId)?.evidence_from;
  return from !== undefined && from !== null && day < from;
}
