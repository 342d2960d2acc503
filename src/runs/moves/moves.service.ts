import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { isTerminal, type RunStatus } from '../lifecycle/lifecycle.states.ts';
import {
  claimRow,
  endRow,
  failRow,
  offerAgainRow,
  startRow,
  succeedRow,
  type ClaimResult,
  type Claimant,
  type Failure,
  type HeldRun,
  type Holder,
  type Success,
} from './moves.store.ts';

/** A run is offered this often before it fails as undeliverable (worker-protocol.md A11). */
const MAX_OFFERS = 5;

/** The moves of a run under the hands of a worker. Each is one guarded statement; whoever listens hears of it after the commit. */
@Injectable()
export class RunMoves {
  constructor(@Inject(Bus) private readonly bus: Bus) {}

  async claim(ctx: OpContext, claimant: Claimant): Promise<ClaimResult> {
    const result = await claimRow(ctx, claimant);
    if (result.job) this.tell(ctx, result.job.id, 'claimed');
    return result;
  }

  /** False when this worker does not hold the run in this attempt, or it has started already. */
  async start(ctx: OpContext, holder: Holder): Promise<boolean> {
    return this.told(ctx, await startRow(ctx, holder));
  }

  async succeed(ctx: OpContext, holder: Holder, success: Success): Promise<boolean> {
    return this.told(ctx, await succeedRow(ctx, holder, success));
  }

  async fail(ctx: OpContext, holder: Holder, failure: Failure): Promise<boolean> {
    return this.told(ctx, await failRow(ctx, holder, failure));
  }

  /**
   * A worker that asks for work while it holds a run has lost that run (worker-protocol.md A5): before its start the run
   * is offered again, up to five times; after it the run fails.
   */
  async settleLost(ctx: OpContext, agentId: string, workerId: string, { id, status, offers }: HeldRun): Promise<void> {
    const accountId = ctx.actor.accountId;
    if (status === 'claimed' && offers < MAX_OFFERS) {
      if (this.told(ctx, await offerAgainRow(ctx, id, workerId))) {
        ctx.afterCommit(() => this.bus.poke('agent.work', accountKey(accountId, agentId)));
      }
      return;
    }
    const end =
      status === 'claimed'
        ? ({
            code: 'end.undeliverable',
            error: `undeliverable: offered ${MAX_OFFERS} times and never started`,
          } as const)
        : ({
            code: 'end.worker_lost',
            error: 'worker_lost: its worker asked for other work without having reported an end',
          } as const);
    this.told(ctx, await endRow(ctx, { accountId, runId: id, from: [status] }, end));
  }

  private told(ctx: OpContext, moved: { readonly id: string; readonly status: RunStatus } | undefined): boolean {
    if (moved) this.tell(ctx, moved.id, moved.status);
    return moved !== undefined;
  }

  private tell(ctx: OpContext, runId: string, status: RunStatus): void {
    const key = accountKey(ctx.actor.accountId, runId);
    ctx.afterCommit(() => {
      this.bus.poke('run.grew', key);
      if (isTerminal(status)) this.bus.poke('run.ended', key);
    });
  }
}
