import { describe, expect, it } from '@jest/globals';
import { tallyOf } from './tally.policy.ts';

const PLAIN = { truncated: [], altered: [], timestamp: undefined };
const CUT = { path: 'content', artifact_id: 'art_1', bytes: 9 };

describe('what a batch adds to the account of its run', () => {
  it('is nothing of a batch of plain events', () => {
    expect(tallyOf([PLAIN, PLAIN], [], 0)).toEqual({
      ...{ duplicate: 0, refused: 0, refusedCodes: null, truncated: 0, altered: 0, saidMs: null },
    });
  });

  it('counts events, not places in them', () => {
    const events = [{ ...PLAIN, truncated: [CUT, CUT], altered: ['a', 'b'] }, PLAIN];
    expect(tallyOf(events, [], 3)).toMatchObject({ duplicate: 3, truncated: 1, altered: 1 });
  });

  it('counts what was left out by its reason', () => {
    const refused = (['event.no_type', 'event.not_object', 'event.no_type'] as const).map((code, index) => ({
      index,
      code,
    }));
    const { refused: count, refusedCodes } = tallyOf([], refused, 0);
    expect([count, JSON.parse(refusedCodes ?? '')]).toEqual([3, { 'event.no_type': 2, 'event.not_object': 1 }]);
  });

  it.each([
    [['2026-11-29T12:00:00Z', '2026-11-29T12:00:05Z'], Date.UTC(2026, 10, 29, 12, 0, 5)],
    [['2026-11-29T12:00:00Z', undefined], Date.UTC(2026, 10, 29, 12)],
    [['2026-11-29T12:00:00Z', 'yesterday'], null],
    [[], null],
  ])('takes the worker’s clock from its last event: %j', (timestamps, saidMs) => {
    expect(
      tallyOf(
        timestamps.map((timestamp) => ({ ...PLAIN, timestamp })),
        [],
        0,
      ).saidMs,
    ).toBe(saidMs);
  });
});
