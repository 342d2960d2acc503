import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Database } from '../../platform/db/database.ts';
import { asSystemWork, type SystemContext } from '../../platform/operation/system-work.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { Matcher, NOTHING_OUT } from '../../vault/index.ts';
import { BatchMask } from '../events/masked.policy.ts';
import { RunTails } from './tails.service.ts';
import { dueTails, keepTails, lockTails, type RunKey } from './tails.store.ts';

/** A worker sends every two seconds: the rest of a value comes within three, or it is none. */
const HELD_SECONDS = 3;
/** So long the end of a text that was told is remembered: the rest of a value is masked then, if not its beginning. */
const KEPT_SECONDS = 60;
const EVERY_MS = 1_000;
const MOST = 200;
const NO_VALUES = Matcher.of([]);

/** Tells the events that wait for the rest of a value when it does not come, or when their run has ended. */
@Injectable()
export class TailsSweep implements Sweep {
  readonly name = 'evidence.tails';
  readonly everyMs = EVERY_MS;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(RunTails) private readonly tails: RunTails,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
    bus.on('run.ended', (key) => {
      if (this.tails.isWaiting(key)) void sweeper.now(this.name);
    });
  }

  async run(): Promise<SweepReport> {
    const limits = { heldSeconds: HELD_SECONDS, keptSeconds: KEPT_SECONDS, most: MOST };
    const due = await asSystemWork(this.database, 'find texts that have waited', (ctx) => dueTails(ctx, limits));
    let told = 0;
    for (const run of due) {
      told += await asSystemWork(this.database, 'tell what has waited', (ctx) => this.tell(ctx, run));
    }
    return { told };
  }

  private async tell(ctx: SystemContext, run: RunKey): Promise<number> {
    const locked = await lockTails(ctx, run, KEPT_SECONDS);
    if (!locked) return 0;
    const kept = this.tails.open(locked.sealed, run);
    const mask = new BatchMask(NO_VALUES, kept); // what is to be masked of them was found when they came
    mask.release();
    const view = { handedOut: NOTHING_OUT, tailsVersion: locked.version, kept };
    await this.tails.keep(ctx, run, { mask, view, masked: 0, waitingAt: neverAsked });
    if (locked.isOver)
      await keepTails(ctx, run, { masked: 0, sealed: null, heldSeq: null, version: locked.version + 1 });
    this.tails.forget(run);
    ctx.afterCommit(() => this.bus.poke('run.grew', accountKey(run.accountId, run.runId)));
    return kept.events.length;
  }
}

function neverAsked(): never {
  throw new Error('nothing of a batch waits where there is no batch');
}
