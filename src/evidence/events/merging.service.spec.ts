import { describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import type { OpContext } from '../../platform/operation/operation.ts';
import { Merging } from './merging.service.ts';

/** Transactions that say what was done in each, and keep it only when it ends well. */
class Transactions {
  readonly kept: string[][] = [];
  readonly begun: string[][] = [];

  of(accountId: string): OpContext {
    const briefly = async <Result>(work: (ctx: OpContext) => Promise<Result>): Promise<Result> => {
      const done: string[] = [];
      this.begun.push(done);
      const note = ({ text }: { text: string }) => void done.push(text);
      const result = await work({ actor: { accountId }, note } as unknown as OpContext);
      await sleep(20); // the commit
      this.kept.push(done);
      return result;
    };
    return { actor: { accountId }, briefly } as unknown as OpContext;
  }
}

const act =
  (text: string, fails = false) =>
  async (ctx: OpContext): Promise<string> => {
    ctx.note({ text });
    await sleep(1);
    if (fails) throw new Error(`${text} fails`);
    return `${text} done`;
  };

const about = (key: string, bytes = 1) => ({ key, bytes });

describe('works of one account', () => {
  it('begin at once while few are under way, and share a transaction in the order of their keys when several wait', async () => {
    const transactions = new Transactions();
    const merging = new Merging();
    const ctx = transactions.of('a');
    const names = ['one', 'two', 'three', 'four', 'd', 'b', 'c', 'a'];
    const results = await Promise.all(names.map((name) => merging.share(ctx, about(name), act(name))));
    expect(results).toEqual(names.map((name) => `${name} done`));
    expect(transactions.kept).toEqual([['one'], ['two'], ['three'], ['four'], ['a', 'b', 'c', 'd']]);
  });

  it('one that fails takes nobody with it', async () => {
    const transactions = new Transactions();
    const merging = new Merging();
    const ctx = transactions.of('a');
    const names = ['one', 'two', 'three', 'four', 'a', 'b', 'c'];
    const results = await Promise.allSettled(
      names.map((name) => merging.share(ctx, about(name), act(name, name === 'b'))),
    );
    expect(results.map(({ status }) => status === 'rejected')).toEqual(names.map((name) => name === 'b'));
    expect(transactions.begun[4]).toEqual(['a', 'b', 'c']);
    expect(transactions.kept.flat().toSorted()).toEqual(['a', 'c', 'four', 'one', 'three', 'two']);
  });

  it('a transaction takes no more than so many, and no more than so many bytes', async () => {
    const transactions = new Transactions();
    const merging = new Merging();
    const ctx = transactions.of('a');
    const large = 20 * 1024;
    const sizes = [1, 1, 1, 1, large, large, ...Array<number>(20).fill(1)];
    await Promise.all(sizes.map((bytes, index) => merging.share(ctx, about(`${index}`, bytes), act(`${index}`))));
    expect(transactions.kept.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1, 16, 5]);
  });

  it('do not wait for another account, and nothing is left of them', async () => {
    const transactions = new Transactions();
    const merging = new Merging();
    const works = ['one', 'two', 'three', 'four', 'five'].map((name) =>
      merging.share(transactions.of('a'), about(name), act(name)),
    );
    const others = new Transactions();
    const other = merging.share(others.of('b'), about('other'), act('other'));
    await Promise.all([...works, other]);
    expect(transactions.begun.slice(0, 4)).toEqual([['one'], ['two'], ['three'], ['four']]);
    expect(others.begun).toEqual([['other']]);
    await sleep(0);
    expect(merging).toMatchObject({ accounts: new Map() });
  });
});
