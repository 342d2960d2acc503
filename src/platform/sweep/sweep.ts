import { Inject, Injectable, type BeforeApplicationShutdown, type OnApplicationBootstrap } from '@nestjs/common';
import { Clock } from '../clock/clock.ts';
import { Log, describeError } from '../log/log.ts';

/** What a sweep did: counts by name, for the log. */
export type SweepReport = Readonly<Record<string, number>>;

/**
 * Asks "what should be true?" of all rows, in bounded batches, and makes it so. It takes no arguments and may run on
 * every replica at any time; what fails is tried again at the next tick.
 */
export interface Sweep {
  readonly name: string;
  readonly everyMs: number;
  run(): Promise<SweepReport>;
}

interface Scheduled {
  readonly sweep: Sweep;
  timer: NodeJS.Timeout | undefined;
  running: Promise<void> | undefined;
}

/** Runs the sweeps of this process: each one at a time, by the clock and on a poke. */
@Injectable()
export class Sweeper implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly log = new Log('sweep');
  private readonly sweeps = new Map<string, Scheduled>();
  private stopped = true;
  private ended = false;

  constructor(@Inject(Clock) private readonly clock: Clock) {}

  /** Rooms add theirs while they are built. */
  add(sweep: Sweep): void {
    if (this.sweeps.has(sweep.name)) throw new Error(`Two sweeps are called ${sweep.name}`);
    this.sweeps.set(sweep.name, { sweep, timer: undefined, running: undefined });
  }

  onApplicationBootstrap(): void {
    this.stopped = false;
    for (const scheduled of this.sweeps.values()) this.schedule(scheduled);
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.stopped = true;
    this.ended = true;
    for (const { timer } of this.sweeps.values()) clearTimeout(timer);
    for (const { running } of this.sweeps.values()) await running;
  }

  /**
   * Runs a sweep now; if it is running, once more after that. Resolves when a run that began after the call is over. While
   * the process ends nothing runs: the next one finds the rows.
   */
  async now(name: string): Promise<void> {
    const scheduled = this.sweeps.get(name);
    if (!scheduled) throw new Error(`There is no sweep ${name}`);
    await scheduled.running;
    if (!this.ended) await this.run(scheduled);
  }

  private schedule(scheduled: Scheduled): void {
    if (this.stopped) return;
    scheduled.timer = setTimeout(() => void this.run(scheduled), scheduled.sweep.everyMs).unref();
  }

  private run(scheduled: Scheduled): Promise<void> {
    if (scheduled.running) return scheduled.running;
    clearTimeout(scheduled.timer);
    scheduled.running = this.runOnce(scheduled.sweep).finally(() => {
      scheduled.running = undefined;
      this.schedule(scheduled);
    });
    return scheduled.running;
  }

  private async runOnce(sweep: Sweep): Promise<void> {
    const startedAt = this.clock.monotonicMs();
    try {
      const report = await sweep.run();
      if (Object.values(report).some((count) => count > 0)) {
        this.log.info(sweep.name, { ...report, ms: Math.round(this.clock.monotonicMs() - startedAt) });
      }
    } catch (error) {
      this.log.warn(`${sweep.name} failed; the next tick tries again`, { error: describeError(error) });
    }
  }
}
