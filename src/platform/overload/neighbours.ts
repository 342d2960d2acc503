/** So long after its last urgent work an account counts as there. */
const THERE_MS = 1_000;
/** Between the steps of a dispatch, each urgent work, pass so many milliseconds: a worker hears of it, and asks. */
const BETWEEN_STEPS_MS = 10;

interface Account {
  readonly id: string;
  underWay: number;
  lastMs: number;
}

/** Which accounts have urgent work under way: what moves runs, and what callers change. */
export class Neighbours {
  /** Those of the last second, and perhaps older ones. */
  private readonly accounts = new Map<string, Account>();
  private readonly nowMs: () => number;

  constructor(nowMs: () => number = () => performance.now()) {
    this.nowMs = nowMs;
  }

  came(id: string): void {
    const account = this.accounts.get(id) ?? { id, underWay: 0, lastMs: 0 };
    account.underWay += 1;
    account.lastMs = this.nowMs();
    this.accounts.delete(id);
    this.accounts.set(id, account);
  }

  left(id: string): void {
    const account = this.accounts.get(id);
    if (!account) return;
    account.underWay -= 1;
    account.lastMs = this.nowMs();
  }

  /** Whether others than this account have urgent work under way, or had some a moment ago. */
  areBusy(except: string): boolean {
    return this.some(except, ({ underWay, lastMs }) => underWay > 0 || this.nowMs() - lastMs < BETWEEN_STEPS_MS);
  }

  /** Whether others than this account came in the last second. */
  areThere(except: string): boolean {
    return this.some(except, ({ underWay, lastMs }) => underWay > 0 || this.nowMs() - lastMs < THERE_MS);
  }

  private some(except: string, is: (account: Account) => boolean): boolean {
    for (const account of this.accounts.values()) {
      if (account.underWay <= 0 && this.nowMs() - account.lastMs >= THERE_MS) this.accounts.delete(account.id);
      else if (account.id !== except && is(account)) return true;
    }
    return false;
  }
}
