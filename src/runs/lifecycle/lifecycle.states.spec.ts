import { describe, expect, it } from '@jest/globals';
import { RUN_STATUSES, isTerminal, mayMove } from './lifecycle.states.ts';

const ALLOWED = new Set([
  'queued>claimed',
  'queued>failed',
  'queued>cancelled',
  'claimed>queued',
  'claimed>running',
  'running>queued',
  'claimed>succeeded',
  'claimed>failed',
  'claimed>cancelled',
  'running>succeeded',
  'running>failed',
  'running>cancelled',
]);

describe('a run', () => {
  it.each(RUN_STATUSES.flatMap((from) => RUN_STATUSES.map((to) => [from, to] as const)))(
    'K-17: from %s to %s moves only as published',
    (from, to) => {
      expect(mayMove(from, to)).toBe(ALLOWED.has(`${from}>${to}`));
    },
  );

  it('K-17: ends for good in three states', () => {
    expect(RUN_STATUSES.filter(isTerminal)).toEqual(['succeeded', 'failed', 'cancelled']);
  });
});
