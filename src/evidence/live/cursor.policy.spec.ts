import { describe, expect, it } from '@jest/globals';
import { cursorText, heardFrom, shortName } from './cursor.policy.ts';

const at = new Date(Date.UTC(2026, 10, 29, 12));
const NOTHING = new Map<string, number>();

describe('a place in an account’s stream', () => {
  it.each([0, 1, 50])('is read as it was written, with %d runs', (count) => {
    const runs = new Map(Array.from({ length: count }, (_, index) => [shortName(`run_${index}`), index * 1_000_003]));
    expect(runs.size).toBe(count);
    expect(heardFrom(cursorText({ at, runs }, 7))).toEqual({ at, runs });
  });

  it('sorts as its events came', () => {
    const later = new Date(at.getTime() + 1);
    const texts = [cursorText({ at, runs: NOTHING }, 1), cursorText({ at, runs: NOTHING }, 200), cursorText({ at: later, runs: NOTHING }, 3)]; // prettier-ignore
    expect(texts.toSorted()).toEqual(texts);
  });

  it.each([
    '',
    '7',
    'x'.repeat(14) + '.',
    '0'.repeat(14) + '.abcdef',
    'ünïcode-ünïco',
    '0'.repeat(13) + '\n',
    '00000000000000.ab',
  ])('is not %j', (text) => {
    expect(heardFrom(text)).toBeUndefined();
  });
});
