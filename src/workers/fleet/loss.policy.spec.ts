import { describe, expect, it } from '@jest/globals';
import { lossOf, type Holding, type LossSigns } from './loss.policy.ts';

const LIMITS = {
  closedOfferSeconds: 6,
  closedLostSeconds: 15,
  unackedSeconds: 20,
  presenceWindowSeconds: 90,
  silentLimitSeconds: 900,
};
const NOW = Date.parse('2026-11-30T12:00:00Z');
const ago = (seconds: number): Date => new Date(NOW - seconds * 1_000);

/** A worker with an open channel that was heard this very moment. */
const LIVING: LossSigns = {
  now: ago(0),
  hearingSince: ago(100_000),
  lastSeenAt: ago(0),
  channelOpenedAt: ago(5_000),
  channelClosedAt: null,
  channelClosedBy: null,
  unackedSince: null,
};
const closed = (by: 'worker' | 'us', seconds: number): Partial<LossSigns> => ({
  channelClosedAt: ago(seconds),
  channelClosedBy: by,
  lastSeenAt: ago(seconds),
});
const silent = (seconds: number): Partial<LossSigns> => ({ lastSeenAt: ago(seconds) });
const neverHadOne: Partial<LossSigns> = { channelOpenedAt: null };

describe('A4: a worker', () => {
  it.each<[string, Holding, Partial<LossSigns>, string | undefined]>([
    ['that is heard', 'running', {}, undefined],
    ['(a) whose side closed the channel 5 s ago', 'claimed', closed('worker', 5), undefined],
    ['(a) whose side closed the channel 7 s ago', 'claimed', closed('worker', 7), 'closed_by_worker'],
    ['(a) whose side closed the channel 7 s ago', 'running', closed('worker', 7), undefined],
    ['(a) whose side closed the channel 16 s ago', 'running', closed('worker', 16), 'closed_by_worker'],
    ['(a) whose side closed the channel 16 s ago', 'idle', closed('worker', 16), 'closed_by_worker'],
    [
      '(a) that was heard since its channel was closed',
      'running',
      { ...closed('worker', 60), ...silent(3) },
      undefined,
    ],
    [
      '(a) that has opened another channel since',
      'running',
      { ...closed('worker', 60), channelOpenedAt: ago(50), ...silent(50) },
      undefined,
    ],
    ['(b) whose channel we closed', 'running', closed('us', 120), undefined],
    ['(b) whose channel we closed', 'claimed', closed('us', 80), undefined],
    ['(b) whose channel we closed', 'claimed', closed('us', 91), 'silent_without_channel'],
    ['(b) whose channel we closed', 'running', closed('us', 901), 'silent_without_channel'],
    ['(b) that never had a channel', 'claimed', { ...neverHadOne, ...silent(91) }, 'silent_without_channel'],
    ['(b) that never had a channel', 'running', { ...neverHadOne, ...silent(91) }, undefined],
    ['(b) that never had a channel', 'idle', { ...neverHadOne, ...silent(91) }, 'silent_without_channel'],
    ['(c) that is silent on an open channel', 'running', silent(899), undefined],
    ['(c) that is silent on an open channel', 'running', silent(901), 'silent'],
    ['(c) that is silent on an open channel', 'claimed', silent(91), 'silent'],
    ['(c) whose machine takes no bytes for 19 s', 'running', { unackedSince: ago(19), ...silent(30) }, undefined],
    [
      '(c) whose machine takes no bytes for 21 s',
      'running',
      { unackedSince: ago(21), ...silent(30) },
      'unacknowledged',
    ],
    [
      '(c) whose machine took no bytes on a channel of before',
      'running',
      { ...closed('us', 30), unackedSince: ago(60) },
      undefined,
    ],
    ['when this deployment was deaf meanwhile', 'running', { ...silent(2_000), hearingSince: ago(100) }, undefined],
    ['when this deployment was deaf meanwhile', 'idle', { ...closed('worker', 60), hearingSince: ago(10) }, undefined],
  ])('%s, %s', (_what, holding, different, rule) => {
    expect(lossOf({ ...LIVING, ...different }, holding, LIMITS)?.rule).toBe(rule);
  });

  it('whose silent limit is low is lost by it at the latest, whoever closed the channel', () => {
    const limits = { ...LIMITS, silentLimitSeconds: 5 };
    expect(lossOf({ ...LIVING, ...silent(6) }, 'running', limits)?.at).toEqual(ago(1));
    expect(lossOf({ ...LIVING, ...closed('worker', 6) }, 'running', limits)?.rule).toBe('closed_by_worker');
  });
});
