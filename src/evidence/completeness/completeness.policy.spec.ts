import { describe, expect, it } from '@jest/globals';
import { toCompleteness, type Account } from './completeness.policy.ts';
import type { Findings, IntakeRow } from './completeness.store.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 29, 12, 0, second));
const ROW: IntakeRow = {
  ...{ stored: 10, duplicate: 0, refused: 0, refused_codes: {}, truncated: 0, altered: 0 },
  ...{ skew_min_ms: -5, skew_max_ms: 7, first_at: at(1), last_at: at(9) },
};
const WHOLE: Findings = { late: 0, orphan_spans: 0, open_spans: 0, cut_artifacts: 0 };
const ended = (more: Partial<Account> = {}) =>
  toCompleteness({ runId: 'run_1', hasEnded: true, masked: 0, intake: [ROW], gaps: [], findings: WHOLE, ...more });

describe('the account of a run', () => {
  it.each<[string, Partial<Account>, boolean]>([
    ['has ended and lacks nothing', {}, true],
    ['goes on', { hasEnded: false }, false],
    ['lost a batch', { gaps: [{ attempt: 1, from: 3, to: 3 }] }, false],
    ['had an event left out', { intake: [{ ...ROW, refused: 1 }] }, false],
    ['has a span without its parent', { findings: { ...WHOLE, orphan_spans: 1 } }, false],
    ['has a span that never ended', { findings: { ...WHOLE, open_spans: 1 } }, false],
    ['has an artifact that was cut', { findings: { ...WHOLE, cut_artifacts: 1 } }, false],
    ['was sent an event twice', { intake: [{ ...ROW, duplicate: 4 }] }, true],
    ['has values that were altered or moved to artifacts', { intake: [{ ...ROW, altered: 1, truncated: 2 }] }, true],
    ['has late evidence', { findings: { ...WHOLE, late: 2 } }, true],
  ])('that %s', (_, account, complete) => {
    expect(ended(account).complete).toBe(complete);
  });

  it('adds its attempts up', () => {
    const second = { ...ROW, refused: 2, refused_codes: { a: 1, b: 1 }, skew_min_ms: -90, last_at: at(20) };
    const first = { ...ROW, refused: 1, refused_codes: { a: 1 }, duplicate: 3, first_at: at(0) };
    const unclear = { ...ROW, skew_min_ms: null, skew_max_ms: null };
    expect(ended({ intake: [first, second, unclear] })).toMatchObject({
      ...{ received: 36, stored: 30, duplicate: 3, refused: 3, refused_codes: { a: 2, b: 1 } },
      clock_skew_ms: { min: -90, max: 7 },
      first_at: '2026-11-29T12:00:00.000Z',
      last_at: '2026-11-29T12:00:20.000Z',
    });
  });

  it('counts the batches in its gaps', () => {
    const gaps = [
      { attempt: 1, from: 0, to: 4 },
      { attempt: 2, from: 7, to: 7 },
    ];
    expect(ended({ gaps })).toMatchObject({ lost_batches: 6, gaps: gaps.map((gap) => ({ ...gap, stream: 'run_1' })) });
  });
});
