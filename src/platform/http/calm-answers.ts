import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Clock } from '../clock/clock.ts';
import { Deadline } from '../clock/deadline.ts';
import { CONFIG, type Config } from '../config/config.ts';
import { DatabaseBusy, Fault } from '../faults/faults.ts';
import { ClientManners, Identifier, type Presented } from '../operation/ports.ts';
import { faultFrom } from './faults.ts';

/** No caller of a calm operation waits longer: two seconds are promised, and a busy machine has its share of them. */
const ANSWERED_MS = 1_400;
/** An old client that was told nothing asks again when its wait for a doorbell ends, or at once if one rang. */
const CALM_MS = 1_200;
/** Refusals held back at once, each an open request; one more is told at once. */
const HELD_MAX = 2_000;

/** Who asks, as far as the request says. */
export interface Asking {
  readonly presented: Presented;
  readonly workerId: string;
}

/**
 * How frames that declare a calm answer are answered in bad times (worker-protocol.md A6, §23.2). Whoever would wait too
 * long gets the calm answer. SDK 0.2 asks again at once after any failure, hundreds of times a second: so it gets the calm
 * answer instead of a failure of ours, and hears a refusal late. It may be any worker that nobody here knows.
 */
@Injectable()
export class CalmAnswers implements BeforeApplicationShutdown {
  private readonly leaving = new AbortController();
  private held = 0;

  constructor(
    @Inject(Identifier) private readonly identifier: Identifier,
    @Inject(ClientManners) private readonly manners: ClientManners,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Whoever is held back is answered before the replica goes. */
  beforeApplicationShutdown(): void {
    this.leaving.abort();
  }

  /**
   * Resolves with what `work` answers, or with `calm`. What `work` would hand out after its deadline must stay where it is.
   * @throws Fault what `work` was refused with.
   */
  async answer<Answer>(asking: Asking, calm: Answer, work: (deadline: Deadline) => Promise<Answer>): Promise<Answer> {
    const since = this.clock.monotonicMs();
    const spent = (): number => this.clock.monotonicMs() - since;
    const deadline = new Deadline(() => this.clock.monotonicMs(), ANSWERED_MS);
    const answered = work(deadline).catch((error: unknown) => faultFrom(error)); // heard of even when nobody waits any more
    const outcome = await Promise.race([answered, deadline.passed.then(() => calm)]).finally(() => deadline.callOff());
    if (!(outcome instanceof Fault)) return outcome;
    if (outcome.type === DatabaseBusy) return calm;
    if (this.isPatient(asking)) throw outcome;
    if (isOurs(outcome)) {
      await this.clock.sleep(CALM_MS - spent(), this.leaving.signal);
      return calm;
    }
    await this.holdRefusal(this.config.claimRefusalWaitSeconds * 1_000 - spent());
    throw outcome;
  }

  private isPatient({ presented, workerId }: Asking): boolean {
    const accountId = this.identifier.accountOf(presented);
    return accountId !== undefined && this.manners.isPatient(accountId, workerId);
  }

  private async holdRefusal(milliseconds: number): Promise<void> {
    if (this.held >= HELD_MAX || milliseconds <= 0) return;
    this.held += 1;
    await this.clock.sleep(milliseconds, this.leaving.signal).finally(() => (this.held -= 1));
  }
}

/** Not the caller's doing: another time it may be answered. What its credential is refused with is its doing, also 429. */
function isOurs({ type, code }: Fault): boolean {
  if (code.startsWith('auth.')) return false;
  return type.kind === 'unavailable' || type.kind === 'limited' || type.kind === 'bug';
}
