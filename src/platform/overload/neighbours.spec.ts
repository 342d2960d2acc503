import { describe, expect, it } from '@jest/globals';
import { Neighbours } from './neighbours.ts';

describe('neighbours', () => {
  let nowMs = 0;
  const neighbours = new Neighbours(() => nowMs);
  const seen = (except: string) => [neighbours.areBusy(except), neighbours.areThere(except)];

  it('an account alone has none, however busy it is', () => {
    neighbours.came('a');
    expect(seen('a')).toEqual([false, false]);
    expect(seen('b')).toEqual([true, true]);
  });

  it('are busy while they have urgent work under way, however long it takes', () => {
    neighbours.came('a');
    nowMs += 60_000;
    expect(seen('b')).toEqual([true, true]);
    neighbours.left('a');
    expect(seen('b')).toEqual([true, true]);
  });

  it('are busy a moment longer, between two steps, and there for a second', () => {
    neighbours.left('a');
    nowMs += 9;
    expect(seen('b')).toEqual([true, true]);
    nowMs += 2;
    expect(seen('b')).toEqual([false, true]);
    nowMs += 1_000;
    expect(seen('b')).toEqual([false, false]);
  });

  it('who left long ago is forgotten', () => {
    for (let index = 0; index < 1_000; index += 1) {
      neighbours.came(`account ${index}`);
      neighbours.left(`account ${index}`);
    }
    nowMs += 1_001;
    expect(neighbours.areThere('b')).toBe(false);
    expect(neighbours).toMatchObject({ accounts: new Map() });
  });
});
