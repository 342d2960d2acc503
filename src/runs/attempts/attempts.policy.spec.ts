import { describe, expect, it } from '@jest/globals';
import type { RunStatus } from '../lifecycle/lifecycle.states.ts';
import { attemptsOf, type Move } from './attempts.policy.ts';

const at = (second: number): Date => new Date(Date.parse('2026-03-01T12:00:00.000Z') + second * 1_000);

/** Moves a second apart, the first of them the run's making. */
function moves(...said: readonly [RunStatus, number, (string | null)?, (string | null)?][]): Move[] {
  return said.map(([status, attempt, worker_id = null, code = null], index) => ({
    ...{ status, attempt, worker_id, code, at: at(index), detail: code === null ? {} : { rule: 'silent' } },
  }));
}

describe('the attempts of a run', () => {
  it('are none before it was offered, however it ends', () => {
    expect(attemptsOf(moves(['queued', 0]))).toEqual([]);
    expect(attemptsOf(moves(['queued', 0], ['failed', 0, null, 'end.queue_ttl']))).toEqual([]);
  });

  it('name an offer that was never started, a start that was lost, and who ended it', () => {
    const history = moves(
      ['queued', 0],
      ['claimed', 1, 'w1'],
      ['queued', 1, null, 'worker.failed_offer'],
      ['claimed', 2, 'w2'],
      ['running', 2, 'w2'],
      ['queued', 2, null, 'end.worker_lost'],
      ['claimed', 3, 'w1'],
      ['running', 3, 'w1'],
      ['succeeded', 3, 'w1', 'end.succeeded'],
    );
    expect(attemptsOf(history)).toMatchObject([
      { attempt: 1, workerId: 'w1', offeredAt: at(1), startedAt: null, endedAt: at(2), end: 'worker.failed_offer' },
      { attempt: 2, workerId: 'w2', offeredAt: at(3), startedAt: at(4), endedAt: at(5), end: 'end.worker_lost' },
      { attempt: 3, workerId: 'w1', offeredAt: at(6), startedAt: at(7), endedAt: at(8), end: 'end.succeeded' },
    ]);
    expect(attemptsOf(history).map(({ detail }) => detail)).toEqual(Array(3).fill({ rule: 'silent' }));
  });

  it('that last have no end', () => {
    expect(attemptsOf(moves(['queued', 0], ['claimed', 1, 'w'], ['running', 1, 'w']))).toMatchObject([
      { startedAt: at(2), endedAt: null, end: null, detail: {} },
    ]);
  });

  it.each<[string, RunStatus, string, object]>([
    [
      'that succeeded without a word of its start began when it ended',
      ...(['succeeded', 'end.succeeded', { end: 'end.succeeded', startedAt: at(2) }] as const),
    ],
    [
      'that was the last offer is a failed offer',
      ...(['failed', 'end.undeliverable', { end: 'worker.failed_offer', startedAt: null }] as const),
    ],
    [
      'that was cancelled before its start says so',
      ...(['cancelled', 'end.cancelled', { end: 'end.cancelled', startedAt: null }] as const),
    ],
  ])('one %s', (_what, status, code, expected) => {
    const history = moves(['queued', 0], ['claimed', 1, 'w'], [status, 1, 'w', code]);
    expect(attemptsOf(history)).toMatchObject([{ ...expected, endedAt: at(2) }]);
  });

  it('are not touched by what ends a run that waits again', () => {
    const history = moves(['queued', 0], ['claimed', 1, 'w'], ['queued', 1], ['cancelled', 1, null, 'end.cancelled']);
    expect(attemptsOf(history)).toMatchObject([{ end: 'worker.failed_offer', endedAt: at(2) }]);
  });
});
