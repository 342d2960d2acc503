import { describe, expect, it } from '@jest/globals';
import { OTHER_ADDRESSES, StrangerBound } from './strangers.policy.ts';

const MINUTE = 60_000;

function admitted(bound: StrangerBound, address: string, calls: number, nowMs: number): number {
  return Array.from({ length: calls }, () => bound.admits(address, nowMs)).filter(Boolean).length;
}

describe('the bound on rows of strangers', () => {
  it('one address gets sixty rows a minute, and what it did beyond them is counted', () => {
    const bound = new StrangerBound();
    expect(admitted(bound, '192.0.2.1', 75, 0)).toBe(60);
    expect(bound.takeEnded(MINUTE - 1)).toEqual([]);
    expect(bound.takeEnded(MINUTE)).toEqual([{ address: '192.0.2.1', count: 15 }]);
  });

  it('a count is put on record once', () => {
    const bound = new StrangerBound();
    admitted(bound, '192.0.2.1', 61, 0);
    expect(bound.takeEnded(MINUTE)).toHaveLength(1);
    expect(bound.takeEnded(2 * MINUTE)).toEqual([]);
  });

  it('the next minute has its own sixty', () => {
    const bound = new StrangerBound();
    expect(admitted(bound, '192.0.2.1', 60, 0)).toBe(60);
    expect(admitted(bound, '192.0.2.1', 60, MINUTE)).toBe(60);
  });

  it('a count that nobody fetched yet is not lost when the next minute begins', () => {
    const bound = new StrangerBound();
    admitted(bound, '192.0.2.1', 70, 0);
    expect(admitted(bound, '192.0.2.1', 5, MINUTE + 1)).toBe(0);
    expect(bound.takeEnded(MINUTE + 2)).toEqual([{ address: '192.0.2.1', count: 15 }]);
  });

  it('addresses do not use up each other’s rows', () => {
    const bound = new StrangerBound();
    expect(admitted(bound, '192.0.2.1', 60, 0)).toBe(60);
    expect(admitted(bound, '192.0.2.2', 60, 0)).toBe(60);
  });

  it('a flood from many addresses is held to a bounded number of rows and of counts', () => {
    const bound = new StrangerBound();
    let rows = 0;
    for (let address = 0; address < 5_000; address += 1) rows += admitted(bound, `2001:db8::${address}`, 2, 0);
    expect(rows).toBe(1_000 * 2 + 60);
    expect(bound.takeEnded(MINUTE)).toEqual([{ address: OTHER_ADDRESSES, count: 4_000 * 2 - 60 }]);
  });
});
