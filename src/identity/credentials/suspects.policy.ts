/** Refusals that an address may have in a minute before it is suspect: a fleet whose token was rotated has its share. */
const REFUSALS_PER_WINDOW = 30;
const WINDOW_MS = 60_000;
/** Addresses that are counted one by one; further ones share a count, so that memory stays bounded. */
const ADDRESSES_MAX = 1_000;
const OTHERS = '';

interface Window {
  readonly endsAt: number;
  refusals: number;
}

/** Which addresses present credential after credential that opens nothing. Times are of a clock that never goes back. */
export class Suspects {
  private readonly windows = new Map<string, Window>();

  noteRefusal(address: string, nowMs: number): void {
    const key = this.keyOf(address, nowMs);
    const window = this.windows.get(key);
    if (window && window.endsAt > nowMs) window.refusals += 1;
    else this.windows.set(key, { endsAt: nowMs + WINDOW_MS, refusals: 1 });
  }

  isSuspect(address: string, nowMs: number): boolean {
    const window = this.windows.get(address) ?? this.windows.get(OTHERS);
    return window !== undefined && window.endsAt > nowMs && window.refusals >= REFUSALS_PER_WINDOW;
  }

  private keyOf(address: string, nowMs: number): string {
    if (this.windows.has(address) || this.windows.size < ADDRESSES_MAX) return address;
    for (const [one, { endsAt }] of this.windows) if (endsAt <= nowMs) this.windows.delete(one);
    return this.windows.size < ADDRESSES_MAX ? address : OTHERS;
  }
}
