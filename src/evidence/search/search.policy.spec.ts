import { describe, expect, it } from '@jest/globals';
import { hitCursor, hitPlace, newestFirst, rangeOf, type HitRow } from './search.policy.ts';

const NOW = new Date('2026-11-30T12:00:00Z');
const HIT: HitRow = {
  run_id: 'b',
  agent_id: 'a',
  seq: 5,
  kind: 'k',
  at: NOW,
  micros: '1000',
  span_id: null,
  excerpt: '',
};
const hit = (more: Partial<HitRow>): HitRow => ({ ...HIT, ...more });

describe('a search reaches', () => {
  it.each([
    [{}, '2026-10-31T12:00:00.000Z', '2026-11-30T12:00:00.000Z'],
    [{ to: '2026-01-31T00:00:00+01:00' }, '2025-12-31T23:00:00.000Z', '2026-01-30T23:00:00.000Z'],
    [{ from: '2026-01-01T00:00:00Z' }, '2026-01-01T00:00:00.000Z', '2026-11-30T12:00:00.000Z'],
    [{ from: '2027-01-01T00:00:00Z' }, '2027-01-01T00:00:00.000Z', '2026-11-30T12:00:00.000Z'],
  ])('with %j from %s to %s', (query, from, to) => {
    expect(rangeOf(query, NOW)).toEqual({ from: new Date(from), to: new Date(to) });
  });

  it('over no more than a year', () => {
    expect(() => rangeOf({ from: '2025-01-01T00:00:00Z' }, NOW)).toThrow('at most 366 days');
  });
});

describe('the hits of two looks', () => {
  it('are one list, the newest first, and each of them once', () => {
    const hits = [
      hit({ micros: '999' }),
      hit({}),
      hit({ seq: 7 }),
      hit({ run_id: 'c' }),
      hit({ kind: 'l' }),
      hit({}),
      hit({ micros: '10000' }),
    ];
    expect(newestFirst(hits, 10).map(({ micros, run_id, seq, kind }) => [micros, run_id, seq, kind])).toEqual([
      ['10000', 'b', 5, 'k'], // one place has one time: the last look counts
      ['1000', 'c', 5, 'k'],
      ['1000', 'b', 7, 'k'],
      ['1000', 'b', 5, 'l'],
    ]);
    expect(newestFirst(hits, 1)).toHaveLength(1);
  });
});

describe('a cursor', () => {
  it('is where a page ended', () => {
    const place = { micros: '1234567', run_id: 'run "1"', seq: 3, kind: 'a b' };
    expect(hitPlace(hitCursor(place))).toEqual(place);
    expect(hitPlace(undefined)).toBeUndefined();
  });

  it.each([
    'bogus',
    Buffer.from('12 []').toString('base64url'),
    Buffer.from('12 ["a",1.5,"b"]').toString('base64url'),
    Buffer.from('12 {').toString('base64url'),
  ])('is none of ours: %s', (cursor) => {
    expect(() => hitPlace(cursor)).toThrow('is not a cursor');
  });
});
