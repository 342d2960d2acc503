import { Injectable } from '@nestjs/common';
import type { OpContext } from '../../platform/operation/operation.ts';

/** Transactions of one account under way at once; whoever comes then waits for the next and shares it. */
const UNDER_WAY = 4;
/** What one transaction takes of those who wait. Large works cost so much by themselves that sharing saves nothing, and they are better done side by side. */
const MOST_WORKS = 16;
const MOST_BYTES = 32 * 1024;

type Work<Result> = (ctx: OpContext) => Promise<Result>;

/** What a work is about: two that share a transaction lock their rows in the order of their keys. */
interface About {
  readonly key: string;
  readonly bytes: number;
}

interface Waiting extends About {
  readonly ctx: OpContext;
  /** Does it in the transaction of `ctx`, and remembers how to answer. */
  readonly work: Work<unknown>;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Account {
  underWay: number;
  readonly waiting: Waiting[];
}

/**
 * Small works of one account share a transaction when several wait: one BEGIN, one COMMIT and one flush for all of them. Nobody
 * waits for company, and each is answered after the commit. Where one of them fails, nothing is kept and each goes alone:
 * so none sees the other's failure.
 */
@Injectable()
export class Merging {
  private readonly accounts = new Map<string, Account>();

  /** Does `work` in a transaction. It may be done twice, and of its context may use the account, the statements and the pokes. */
  async share<Result>(ctx: OpContext, about: About, work: Work<Result>): Promise<Result> {
    const { accountId } = ctx.actor;
    const account = this.accounts.get(accountId) ?? { underWay: 0, waiting: [] };
    this.accounts.set(accountId, account);
    if (account.underWay < UNDER_WAY) return this.goOn(account, accountId, () => ctx.briefly(work));
    return new Promise<Result>((resolve, reject) => {
      account.waiting.push({ ctx, work, ...about, resolve: resolve as (result: unknown) => void, reject });
    });
  }

  private async goOn<Result>(account: Account, accountId: string, act: () => Promise<Result>): Promise<Result> {
    account.underWay += 1;
    try {
      return await act();
    } finally {
      account.underWay -= 1;
      const next = takeFrom(account.waiting);
      if (next.length > 0) void this.goOn(account, accountId, () => together(next));
      else if (account.underWay === 0) this.accounts.delete(accountId);
    }
  }
}

/** At least one, if there is one. */
function takeFrom(waiting: Waiting[]): Waiting[] {
  let count = 0;
  for (let bytes = 0; count < Math.min(waiting.length, MOST_WORKS); count += 1) {
    bytes += waiting[count]?.bytes ?? 0;
    if (count > 0 && bytes > MOST_BYTES) break;
  }
  return waiting.splice(0, count);
}

/** Never throws: each hears of its own. */
async function together(works: readonly Waiting[]): Promise<void> {
  const [first] = works;
  if (!first || works.length === 1 || !(await inOne(first.ctx, works))) await Promise.all(works.map(alone));
}

/** Whether all of them were done. */
async function inOne(ctx: OpContext, works: readonly Waiting[]): Promise<boolean> {
  const inOrder = works.toSorted((one, other) => (one.key < other.key ? -1 : Number(one.key > other.key)));
  try {
    const results = await ctx.briefly((inner) => allOf(inOrder.map(({ work }) => work(inner))));
    for (const [index, { resolve }] of inOrder.entries()) resolve(results[index]);
    return true;
  } catch {
    return false; // whose fault it is, each finds out alone
  }
}

/** Waits for all of them also when one fails: none may go on in a transaction that is rolled back. */
async function allOf(works: readonly Promise<unknown>[]): Promise<readonly unknown[]> {
  await Promise.allSettled(works);
  return Promise.all(works);
}

async function alone({ ctx, work, resolve, reject }: Waiting): Promise<void> {
  await ctx.briefly(work).then(resolve, reject);
}
