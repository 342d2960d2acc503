/** Rows that one address may leave in a minute; what comes on top is counted. */
const ROWS_PER_WINDOW = 60;
const WINDOW_MS = 60_000;
/** Addresses that are counted one by one; further ones share a count, so that memory and rows stay bounded. */
const ADDRESSES_MAX = 1_000;

/** The address under which those are counted that no longer fit. */
export const OTHER_ADDRESSES = 'other addresses';

/** What one address did beyond its rows. */
export interface Excess {
  readonly address: string;
  readonly count: number;
}

interface Window {
  readonly endsAt: number;
  rows: number;
  excess: number;
}

/** Decides which refused calls of strangers get a row of their own, and counts the others by address and minute. */
export class StrangerBound {
  private readonly windows = new Map<string, Window>();

  /** True if this call gets a row. `nowMs` is of a clock that never goes back. */
  admits(address: string, nowMs: number): boolean {
    const window = this.windowOf(address, nowMs);
    if (window.rows < ROWS_PER_WINDOW) {
      window.rows += 1;
      return true;
    }
    window.excess += 1;
    return false;
  }

  /** Forgets the minutes that are over by `nowMs`; returns the counts to put on record. */
  takeEnded(nowMs: number): Excess[] {
    const ended = [...this.windows].filter(([, { endsAt }]) => endsAt <= nowMs);
    for (const [address] of ended) this.windows.delete(address);
    return ended.filter(([, { excess }]) => excess > 0).map(([address, { excess }]) => ({ address, count: excess }));
  }

  /** A minute that is over but not yet put on record goes on: its count must not be lost. */
  private windowOf(address: string, nowMs: number): Window {
    const open = this.windows.get(address);
    if (open && (open.endsAt > nowMs || open.excess > 0)) return open;
    if (!open && address !== OTHER_ADDRESSES && this.windows.size >= ADDRESSES_MAX) {
      return this.windowOf(OTHER_ADDRESSES, nowMs);
    }
    const window = { endsAt: nowMs + WINDOW_MS, rows: 0, excess: 0 };
    this.windows.set(address, window);
    return window;
  }
}
