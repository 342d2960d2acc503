import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../clock/clock.ts';
import { isConflict, isOutage } from '../db/database-errors.ts';
import { OutcomeUnknown } from '../db/transaction.ts';
import { Replica } from '../replica/replica.ts';

const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;
/** What all that waits may take together. Beyond it work is refused at once: the memory is needed for others. */
const HELD_UNITS = 64 * 1024 * 1024;

/** How long it may be waited, and how much memory what waits takes: characters, asked for only once it has to wait. */
export interface Waiting {
  readonly heldMs: number;
  readonly sizeOf: () => number;
}

/** Does work that may be done twice again and again while the database is away, for as long as the caller waits. */
@Injectable()
export class Patience {
  private held = 0;

  constructor(
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Replica) private readonly replica: Replica,
  ) {}

  /** @throws what `work` threw last, when the time is over, the replica leaves or too much waits already. */
  async throughOutage<Result>({ heldMs, sizeOf }: Waiting, work: () => Promise<Result>): Promise<Result> {
    let size: number;
    try {
      return await work();
    } catch (error) {
      if (!mayPass(error)) throw error;
      size = sizeOf();
      if (this.held + size > HELD_UNITS) throw error;
    }
    this.held += size;
    try {
      return await this.again(heldMs, work);
    } finally {
      this.held -= size;
    }
  }

  private async again<Result>(heldMs: number, work: () => Promise<Result>): Promise<Result> {
    const until = this.clock.monotonicMs() + heldMs;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      await this.clock.sleep(pause, this.replica.draining);
      try {
        return await work();
      } catch (error) {
        if (!mayPass(error) || this.replica.isDraining || this.clock.monotonicMs() + pause > until) throw error;
      }
    }
  }
}

function mayPass(error: unknown): boolean {
  return isOutage(error) || isConflict(error) || error instanceof OutcomeUnknown;
}
