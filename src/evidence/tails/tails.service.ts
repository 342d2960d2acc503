import { Inject, Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import { KEY_RING, type KeyRing, type Sealed } from '../../platform/crypto/key-ring.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { NOTHING_OUT } from '../../vault/index.ts';
import type { MaskedBy, Sender } from '../events/append.store.ts';
import { NOTHING_KEPT, type BatchMask, type Kept, type WaitingEvent } from '../events/masked.policy.ts';
import { keepTails, readTails, tellWaited, type RunKey } from './tails.store.ts';

const MOST_RUNS = 20_000;

/** What this replica believes of a run: by what its next batch is to be masked. The statement that keeps the batch asks whether it is so. */
export interface View extends MaskedBy {
  readonly kept: Kept;
}

/** Nothing was handed out and nothing waits: true of most runs, and of a run that is new here it costs nothing to believe it. */
const FIRST_VIEW: View = { handedOut: NOTHING_OUT, tailsVersion: 0, kept: NOTHING_KEPT };

/** What of a batch is to be kept beside its events. */
export interface Remainder {
  readonly mask: BatchMask;
  readonly view: View;
  /** How often something was masked in its events. */
  readonly masked: number;
  readonly waitingAt: (place: number) => WaitingEvent;
}

/** The undecided ends of runs' texts: sealed in the run's row, and what this replica knows of them. */
@Injectable()
export class RunTails {
  private readonly log = new Log('evidence');
  private readonly views = new Map<string, View>();

  constructor(@Inject(KEY_RING) private readonly keyRing: KeyRing) {}

  viewOf(accountId: string, runId: string): View {
    return this.views.get(accountKey(accountId, runId)) ?? FIRST_VIEW;
  }

  /** Whether this replica knows of events of a run that wait. */
  isWaiting(key: string): boolean {
    return (this.views.get(key)?.kept.events.length ?? 0) > 0;
  }

  remember(accountId: string, runId: string, view: View): void {
    const key = accountKey(accountId, runId);
    this.views.delete(key); // what is used stands last
    this.views.set(key, view);
    for (const oldest of this.views.keys()) {
      if (this.views.size <= MOST_RUNS) break;
      this.views.delete(oldest);
    }
  }

  forget({ accountId, runId }: RunKey): void {
    this.views.delete(accountKey(accountId, runId));
  }

  /** As it is now; undefined for a run that is not there. */
  async read(ctx: Pick<OpContext, 'actor' | 'sql'>, sender: Sender): Promise<View | undefined> {
    const { accountId } = ctx.actor;
    const row = await readTails(ctx, accountId, sender);
    if (!row) return undefined;
    const { sealed, ...by } = row;
    return { ...by, kept: sealed ? this.open(sealed, { accountId, runId: sender.runId }) : NOTHING_KEPT };
  }

  /** Keeps what is undecided now, and tells what is decided. Undefined when somebody else did so meanwhile. */
  async keep(ctx: Pick<OpContext, 'sql'>, run: RunKey, remainder: Remainder): Promise<View | undefined> {
    const { mask, view, waitingAt } = remainder;
    const told = mask.released();
    const kept = mask.kept(waitingAt);
    const isEmpty = kept.tails.length === 0 && kept.events.length === 0;
    const numbers = kept.events.map(({ seq }) => seq);
    const masked = told.reduce((sum, { masked: own }) => sum + totalOf(own), remainder.masked);
    const day = await keepTails(ctx, run, {
      masked,
      sealed: isEmpty ? null : this.keyRing.seal(JSON.stringify(kept), bindingOf(run)),
      heldSeq: numbers.length === 0 ? null : Math.min(...numbers),
      version: view.tailsVersion,
    });
    if (day === undefined) return undefined;
    if (told.length > 0) await tellWaited(ctx, run, day, told);
    return { handedOut: view.handedOut, tailsVersion: view.tailsVersion + 1, kept };
  }

  open(sealed: Sealed, run: RunKey): Kept {
    try {
      return JSON.parse(this.keyRing.open(sealed, bindingOf(run))) as Kept;
    } catch (error) {
      this.log.error('what waits of a run cannot be opened, and is lost', {
        run_id: run.runId,
        key_id: sealed.keyId,
        error: describeError(error),
      });
      return NOTHING_KEPT;
    }
  }
}

function totalOf(masked: Readonly<Record<string, number>>): number {
  return Object.values(masked).reduce((sum, count) => sum + count, 0);
}

function bindingOf({ accountId, runId }: RunKey): string {
  return `${accountId}/${runId}/tails`;
}
