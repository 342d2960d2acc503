import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { SystemContext } from '../../platform/operation/system-work.ts';
import { isTerminal, type RunStatus } from '../lifecycle/lifecycle.states.ts';
import { beginRow, type Begun } from './begin.store.ts';
import { claimRow, type ClaimResult, type Claimant } from './claim.store.ts';
import {
  adoptRows,
  loseDeliveryRow,
  unsendRow,
  type AdoptedRun,
  type Adopting,
  type DialledRun,
} from './dial.store.ts';
import {
  endLostRow,
  endRow,
  failRow,
  offerAgainRow,
  retryFailedRow,
  retryLostRow,
  startRow,
  succeedRow,
  termsOfAgent,
  termsOfRun,
  type End,
  type Failure,
  type Holder,
  type LostRun,
  type Moved,
  type Success,
} from './moves.store.ts';

/** How the loss of a run's worker was seen. */
export interface SeenLoss {
  /** A rule of worker-protocol.md A4 or A5, by name. */
  readonly rule: string;
  /** For the run's error. */
  readonly sentence: string;
  /** The worker was silent: others are offered its run first, and it is told to stop should it come back. */
  readonly isSilent: boolean;
}

/** The moves of a run under the hands of a worker. Each is one guarded statement; whoever listens hears of it after the commit. */
@Injectable()
export class RunMoves {
  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
  ) {}

  async claim(ctx: OpContext, claimant: Claimant): Promise<ClaimResult> {
    const result = await claimRow(ctx, claimant, this.config);
    const { job } = result;
    if (job) this.told(ctx, ctx.actor.accountId, { id: job.id, agent_id: job.agent_id, status: 'claimed' });
    return result;
  }

  /** A worker says that it works on a run that nobody gave it. False when there is such a run already, or the worker may not. */
  async begin(ctx: OpContext, begun: Begun): Promise<boolean> {
    return this.told(ctx, ctx.actor.accountId, await beginRow(ctx, begun));
  }

  /** False when this worker does not hold the run in this attempt, or it has started already. */
  async start(ctx: OpContext, holder: Holder): Promise<boolean> {
    return this.told(ctx, ctx.actor.accountId, await startRow(ctx, holder));
  }

  async succeed(ctx: OpContext, holder: Holder, success: Success): Promise<boolean> {
    return this.told(ctx, ctx.actor.accountId, await succeedRow(ctx, holder, success));
  }

  /** Ends the run as failed, or puts it back where the agent's policy says that failures are tried again. */
  async fail(ctx: OpContext, holder: Holder, failure: Failure): Promise<RunStatus | undefined> {
    const { accountId } = ctx.actor;
    const retry = (await termsOfAgent(ctx, accountId, holder.agentId))?.retry;
    const again = retry?.on.includes('failed') ? await retryFailedRow(ctx, holder, retry, failure) : undefined;
    const moved = again ?? (await failRow(ctx, holder, failure));
    this.told(ctx, accountId, moved);
    return moved?.status;
  }

  /**
   * The worker of a run was lost (worker-protocol.md A4, A5). Before its start the run is offered again, as often as the
   * agent's policy allows; after it the run fails, or is tried again where the policy says so. False when the run had
   * moved on meanwhile.
   */
  async settleLost(ctx: SystemContext, run: LostRun, loss: SeenLoss): Promise<boolean> {
    const { accountId, runId, status } = run;
    const { rule, sentence, isSilent } = loss;
    const terms = await termsOfRun(ctx, accountId, runId);
    const maxOffers = terms?.max_offers ?? this.config.maxOffers;
    const detail = { rule, worker_id: run.workerId, attempt: run.attempt };
    let moved: Moved | undefined;
    if (status === 'claimed') {
      const error = `undeliverable: offered ${maxOffers} times and never started`;
      moved =
        (await offerAgainRow(ctx, run, { isOthersFirst: isSilent, maxOffers, rule })) ??
        (await endLostRow(ctx, run, { code: 'end.undeliverable', error, detail }, isSilent));
    } else {
      const retry = terms?.retry;
      const again = retry?.on.includes('worker_lost') ? await retryLostRow(ctx, run, retry, rule) : undefined;
      const end: End = { code: 'end.worker_lost', error: `worker_lost: ${sentence}`, detail };
      moved = again ?? (await endLostRow(ctx, run, end, isSilent));
    }
    return this.told(ctx, accountId, moved, isSilent);
  }

  /** A worker was dialled and nothing was sent. False when the run is not that worker’s any more. */
  async unsend(ctx: SystemContext, run: DialledRun, why: string): Promise<boolean> {
    return this.told(ctx, run.accountId, await unsendRow(ctx, run, why));
  }

  /** A worker was dialled, the run was sent, and its answer will not come. False when the run is not that worker’s any more. */
  async loseDelivery(ctx: SystemContext, run: DialledRun, why: string): Promise<boolean> {
    return this.told(ctx, run.accountId, await loseDeliveryRow(ctx, run, why));
  }

  /** Takes over, in transactions of its own, what dialled replicas no longer wait for. */
  adopt(adopting: Adopting): Promise<AdoptedRun[]> {
    return adoptRows(this.database, adopting);
  }

  /** Ends a run by our own word. False when it was in none of the statuses `from` any more. */
  async end(
    ctx: SystemContext,
    run: { readonly accountId: string; readonly runId: string; readonly from: readonly RunStatus[] },
    end: End,
  ): Promise<boolean> {
    return this.told(ctx, run.accountId, await endRow(ctx, run, end), true);
  }

  private told(ctx: SystemContext, accountId: string, moved: Moved | undefined, mayStop = false): boolean {
    if (!moved) return false;
    const key = accountKey(accountId, moved.id);
    ctx.afterCommit(() => {
      this.bus.poke('run.grew', key);
      if (moved.status === 'queued') this.bus.poke('agent.work', accountKey(accountId, moved.agent_id));
      if (!isTerminal(moved.status)) return;
      this.bus.poke('run.ended', key);
      if (mayStop) this.bus.poke('run.cancelled', key);
    });
    return true;
  }
}
