import { Inject, Injectable } from '@nestjs/common';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { asSystemWork } from '../../platform/operation/system-work.ts';
import { RunMoves, type SeenLoss } from '../../runs/index.ts';
import { Presence, lossOf, lossTermsIn, type LossRule } from '../../workers/index.ts';
import { suspects, type Suspect, type Whose } from './losses.store.ts';

const LOOK_EVERY_MS = 1_000;
const REMEMBERED_MAX = 50_000;

/** Takes runs away from workers that are lost (worker-protocol.md A4): by the database's clock, one guarded move each. */
@Injectable()
export class Losses {
  private readonly lookedAt = new Map<string, number>();

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Database) private readonly database: Database,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(RunMoves) private readonly moves: RunMoves,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Of one agent whose worker asks and finds nothing: at most once a second, since a busy agent's workers ask all the time. */
  async settleFor(accountId: string, agentId: string): Promise<number> {
    const key = accountKey(accountId, agentId);
    const now = this.clock.monotonicMs();
    if (now - (this.lookedAt.get(key) ?? Number.NEGATIVE_INFINITY) < LOOK_EVERY_MS) return 0;
    if (this.lookedAt.size >= REMEMBERED_MAX) this.lookedAt.clear();
    this.lookedAt.set(key, now);
    return this.settle({ accountId, agentId });
  }

  /** Of one agent, or of all. Answers how many runs moved. */
  async settle(whose?: Whose): Promise<number> {
    if ((await suspects(this.database, whose, this.config)).length === 0) return 0;
    await this.presence.flush(); // what this replica has heard counts
    let settled = 0;
    for (const suspect of await suspects(this.database, whose, this.config)) {
      const loss = this.seenLoss(suspect);
      if (loss && (await this.take(suspect, loss))) settled += 1;
    }
    return settled;
  }

  private seenLoss(suspect: Suspect): SeenLoss | undefined {
    const { signs, limits } = lossTermsIn(suspect, this.config);
    const rule = lossOf(signs, suspect.status, limits)?.rule;
    if (rule) return { rule, sentence: sentenceOf(rule, limits), isSilent: true };
    if (suspect.is_over_offer)
      return { rule: 'offer_limit', sentence: 'it was offered and not started', isSilent: true };
    return undefined;
  }

  private take(suspect: Suspect, loss: SeenLoss): Promise<boolean> {
    const { account_id: accountId, id: runId, worker_id: workerId, attempt, status } = suspect;
    const run = { accountId, runId, workerId, attempt, status };
    return asSystemWork(this.database, 'settle a lost run', (ctx) => this.moves.settleLost(ctx, run, loss));
  }
}

function sentenceOf(
  rule: LossRule,
  limits: Pick<Config, 'closedLostSeconds' | 'silentLimitSeconds' | 'unackedSeconds'>,
): string {
  switch (rule) {
    case 'closed_by_worker':
      return `its worker closed its channel and was not heard again for ${limits.closedLostSeconds} s`;
    case 'unacknowledged':
      return `the machine of its worker acknowledged nothing for ${limits.unackedSeconds} s`;
    case 'silent_without_channel':
      return `its worker has no channel and was not heard for ${limits.silentLimitSeconds} s`;
    case 'silent':
      return `its worker was not heard for ${limits.silentLimitSeconds} s`;
  }
}
