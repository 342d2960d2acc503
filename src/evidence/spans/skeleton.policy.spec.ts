import { describe, expect, it } from '@jest/globals';
import { toSkeleton } from './skeleton.policy.ts';
import type { SpanRow } from './spans.store.ts';

const at = (second: number): Date => new Date(Date.UTC(2026, 10, 29, 12, 0, second));
const ROW: SpanRow = {
  span_id: 's',
  parent_span_id: null,
  kind: 'tool',
  name: 'lookup',
  status: 'ok',
  attempt: 1,
  first_seq: 4,
  changed_seq: 9,
  start_seq: 4,
  end_seq: 9,
  started_at: at(1),
  ended_at: at(3),
  clock_skewed: false,
  child_run_id: null,
  usage: { total_tokens: 7, cost_amount: 0.5 },
  bytes: 100,
  orphan: false,
};

describe('a span as lists show it', () => {
  it('has its place, its times and what it consumed', () => {
    expect(toSkeleton(ROW)).toMatchObject({
      seq: 4,
      changed_seq: 9,
      started_at: '2026-11-29T12:00:01.000Z',
      duration_ms: 2_000,
      total_tokens: 7,
      cost_amount: 0.5,
    });
  });

  it.each([
    [at(1), at(3), 2_000],
    [at(3), at(3), 0],
    [at(3), at(1), 0],
    [at(3), null, null],
    [null, at(3), null],
  ])('F-43: from %s to %s lasted %s ms', (started_at, ended_at, duration) => {
    expect(toSkeleton({ ...ROW, started_at, ended_at }).duration_ms).toBe(duration);
  });

  it.each([
    ['ok', 'ok'],
    ['error', 'error'],
    ['cancelled', null],
    [null, null],
  ])('with the status %j reads %j', (status, read) => {
    expect(toSkeleton({ ...ROW, status }).status).toBe(read);
  });
});
