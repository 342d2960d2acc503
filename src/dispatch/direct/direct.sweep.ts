import { Inject, Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { REPLICA_ALIVE_SECONDS, Replica } from '../../platform/replica/replica.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { RunMoves } from '../../runs/index.ts';
import { Presence } from '../../workers/index.ts';
import { DirectDispatch } from './direct.service.ts';
import { dueWorkers, endedAmong, silentRuns } from './direct.store.ts';
import { Endpoints } from './endpoints.service.ts';

const ADOPTED_AT_ONCE = 20;

/** Dials for what has waited, and looks after what was dialled: here, and by replicas that are gone. */
@Injectable()
export class DirectSweep implements Sweep {
  readonly name = 'dispatch.direct';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(Endpoints) private readonly endpoints: Endpoints,
    @Inject(DirectDispatch) private readonly direct: DirectDispatch,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = config.sweepSeconds * 1_000;
    sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    await this.presence.flush(); // who asked for work here is not dialled
    return {
      adopted: await this.adopt(),
      stopped: await this.stopEnded(),
      silent: await this.loseSilent(),
      dialled: await this.dialDue(),
    };
  }

  private async adopt(): Promise<number> {
    if (this.replica.isDraining) return 0;
    const orphans = await this.moves.adopt({
      replicaId: this.replica.id,
      known: this.direct.waitedFor.map(({ runId }) => runId),
      aliveSeconds: REPLICA_ALIVE_SECONDS,
      most: ADOPTED_AT_ONCE,
    });
    for (const orphan of orphans) await this.direct.adopt(orphan);
    return orphans.length;
  }

  /** Behind the poke that a run has ended. */
  private async stopEnded(): Promise<number> {
    const { waitedFor } = this.direct;
    if (waitedFor.length === 0) return 0;
    const ended = await endedAmong(this.database, waitedFor);
    for (const { account_id, id } of ended) this.direct.stop(accountKey(account_id, id));
    return ended.length;
  }

  private async loseSilent(): Promise<number> {
    const runs = await silentRuns(this.database, this.config.silentLimitSeconds);
    for (const { account_id: accountId, id: runId, worker_id: workerId, attempt, seconds } of runs) {
      await this.direct.lose({ accountId, runId, workerId, attempt }, `its worker was not heard for ${seconds} s`);
    }
    return runs.length;
  }

  private async dialDue(): Promise<number> {
    const urls = await this.endpoints.dialable();
    if (urls.length === 0) return 0;
    let dialled = 0;
    for (const worker of await dueWorkers(this.database, urls, this.config)) {
      if (await this.direct.dial(worker)) dialled += 1;
    }
    return dialled;
  }
}
