import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { isOutage } from '../../platform/db/database-errors.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { findRun, type RunRow } from '../lifecycle/lifecycle.store.ts';
import { isTerminal } from '../lifecycle/lifecycle.states.ts';
import { RunNotFound } from '../lifecycle/lifecycle.faults.ts';

/** A poke may be lost: a waiting reader looks by itself, first soon, then less often. */
const LOOK_AGAIN_MS = [250, 500, 1_000, 2_000];

/** Lets callers wait for the end of a run without holding anything but a place in a map. */
@Injectable()
export class RunWatch {
  private readonly waiting = new Map<string, Set<() => void>>();

  constructor(
    @Inject(Bus) bus: Bus,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    bus.on('run.ended', (key) => this.wake(key));
  }

  /**
   * The run at its end; or as it stands when `seconds` are over or this replica leaves. Runs outside a transaction.
   * Of a run that was committed in this very moment the row is given: nothing of it can have been missed, so it is looked at
   * only once something is heard; and while the database is away it is what is known, since a caller whose run exists is
   * never told to ask again.
   */
  async untilEnd(ctx: OpContext, run: RunRow | string, seconds: number): Promise<RunRow> {
    const runId = typeof run === 'string' ? run : run.id;
    const until = this.clock.monotonicMs() + seconds * 1_000;
    let known = typeof run === 'string' ? undefined : run;
    for (let look = known ? -1 : 0; ; look += 1) {
      const ended = this.nextEnd(accountKey(ctx.actor.accountId, runId)); // listening begins before looking: nothing falls between
      try {
        const isOver = this.clock.monotonicMs() >= until || this.replica.isDraining;
        if (look >= 0 || isOver) known = await this.look(ctx, runId, known);
        if (known && (isTerminal(known.status) || isOver)) return known;
        const pause = LOOK_AGAIN_MS[Math.max(0, Math.min(look, LOOK_AGAIN_MS.length - 1))] ?? 0;
        const left = until - this.clock.monotonicMs();
        await this.clock.sleep(
          Math.min(pause, Math.max(left, 0)),
          AbortSignal.any([ended.signal, this.replica.draining]),
        );
      } finally {
        ended.forget();
      }
    }
  }

  /** The row as it is now; as it was known, while the database is away. */
  private async look(ctx: OpContext, runId: string, known: RunRow | undefined): Promise<RunRow> {
    try {
      const row = await ctx.briefly((inner) => findRun(inner, ctx.actor.accountId, runId), 'read');
      if (!row) throw RunNotFound();
      return row;
    } catch (error) {
      if (known && isOutage(error)) return known;
      throw error;
    }
  }

  private nextEnd(key: string): { readonly signal: AbortSignal; readonly forget: () => void } {
    const controller = new AbortController();
    const wake = (): void => controller.abort();
    const waiting = this.waiting.get(key) ?? new Set();
    this.waiting.set(key, waiting.add(wake));
    const forget = (): void => {
      waiting.delete(wake);
      if (waiting.size === 0 && this.waiting.get(key) === waiting) this.waiting.delete(key);
    };
    return { signal: controller.signal, forget };
  }

  private wake(key: string): void {
    for (const wake of this.waiting.get(key) ?? []) wake();
  }
}
