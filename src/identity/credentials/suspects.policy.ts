const WINDOW_MS = 60_000;
/** Addresses that are counted one by one; further ones share a count, so that memory stays bounded. */
const ADDRESSES_MAX = 1_000;
const OTHERS = '';

interface Window {
  readonly endsAt: number;
  failures: number;
}

/**
 * Which addresses present credential after credential that nobody has: those with `most` of them within a minute, which begins
 * with the first. Times are of a clock that never goes back.
 */
export class Suspects {
  private readonly windows = new Map<string, Window>();
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  noteFailure(address: string, nowMs: number): void {
    const key = this.keyOf(address, nowMs);
    const window = this.windows.get(key);
    if (window && window.endsAt > nowMs) window.failures += 1;
    else this.windows.set(key, { endsAt: nowMs + WINDOW_MS, failures: 1 });
  }

  /** How long until a failure from there counts anew; 0: the address is not suspect. */
  waitMs(address: string, nowMs: number): number {
    const window = this.windows.get(address) ?? this.windows.get(OTHERS);
    if (window === undefined || window.failures < this.most) return 0;
    return Math.max(0, window.endsAt - nowMs);
  }

  private keyOf(address: string, nowMs: number): string {
    if (this.windows.has(address) || this.windows.size < ADDRESSES_MAX) return address;
    for (const [one, { endsAt }] of this.windows) if (endsAt <= nowMs) this.windows.delete(one);
    return this.windows.size < ADDRESSES_MAX ? address : OTHERS;
  }
}
