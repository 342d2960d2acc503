import { setTimeout as sleepFor } from 'node:timers/promises';

/** The only place that asks the machine for the time. Whatever several processes compare is asked of the database instead. */
export class Clock {
  private readonly offsetMs: number;

  /** `offsetSeconds` puts the time of day wrong, as a machine's may be; durations stay right. */
  constructor(offsetSeconds = 0) {
    this.offsetMs = offsetSeconds * 1_000;
  }

  now(): Date {
    return new Date(this.nowMs());
  }

  /** Milliseconds since 1970. */
  nowMs(): number {
    return Math.round(Date.now() + this.offsetMs);
  }

  /** Milliseconds that only ever go forward: for measuring durations inside this process. */
  monotonicMs(): number {
    return performance.now();
  }

  /** Ends early, without an error, when `signal` is aborted. */
  async sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted) return;
    await sleepFor(milliseconds, undefined, signal ? { signal } : {}).catch(() => {});
  }
}

/** RFC 3339 in UTC with milliseconds, the form of every time on our wire. */
export function wireTime(at: Date): string {
  return at.toISOString();
}
