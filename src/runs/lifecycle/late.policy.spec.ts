import { describe, expect, it } from '@jest/globals';
import { whyLate, type HolderFacts } from './late.policy.ts';

const RUN: HolderFacts = {
  agent_id: 'a',
  status: 'running',
  worker_id: 'w',
  attempt: 2,
  day: '2026-11-29',
  own_attempt: 2,
  is_withheld: false,
};

describe('evidence about a run', () => {
  it.each([
    // [what is different about the run, the sender, the attempt it names, the outcome]
    [{}, 'w', null, undefined],
    [{}, 'w', 2, undefined],
    [{ status: 'claimed' }, 'w', null, undefined],
    [{ status: 'succeeded' }, 'w', null, { why: 'after_end', attempt: 2 }],
    [{ status: 'failed' }, 'w', 2, { why: 'after_end', attempt: 2 }],
    [{ status: 'cancelled' }, 'w', null, { why: 'after_end', attempt: 2 }],
    [{ status: 'cancelled', own_attempt: null }, 'w', null, { why: 'after_end', attempt: 2 }],
    [{}, 'w', 1, { why: 'stale_attempt', attempt: 1 }],
    [{ status: 'succeeded' }, 'w', 1, { why: 'stale_attempt', attempt: 1 }],
    [{ worker_id: 'other', own_attempt: 1 }, 'w', null, { why: 'stale_attempt', attempt: 1 }],
    [{ worker_id: 'other', own_attempt: 1, status: 'succeeded' }, 'w', null, { why: 'stale_attempt', attempt: 1 }],
    [{ worker_id: null, own_attempt: 1, status: 'queued' }, 'w', null, { why: 'stale_attempt', attempt: 1 }],
    [{ own_attempt: null }, 'stranger', null, { why: 'not_owner', attempt: null }],
    [{ own_attempt: null }, 'stranger', 2, { why: 'not_owner', attempt: 2 }],
    [{ worker_id: null, own_attempt: null, status: 'cancelled' }, 'w', null, { why: 'not_owner', attempt: null }],
  ] as const)('with %j, from %s in attempt %s: %j', (different, workerId, named, outcome) => {
    expect(whyLate({ ...RUN, ...different }, workerId, named)).toEqual(outcome);
  });
});
