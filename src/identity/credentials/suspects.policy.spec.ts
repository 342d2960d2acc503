import { describe, expect, it } from '@jest/globals';
import { Suspects } from './suspects.policy.ts';

const MOST = 10;

function waitAfter(suspects: Suspects, address: string, failures: number, at = 0): number {
  for (let time = 0; time < failures; time += 1) suspects.noteFailure(address, at);
  return suspects.waitMs(address, at);
}

describe('U-2: a suspect address', () => {
  it('has had ten failures within a minute, waits for its end, and is none of its neighbours', () => {
    const suspects = new Suspects(MOST);
    expect(waitAfter(suspects, '192.0.2.1', 9)).toBe(0);
    expect(waitAfter(suspects, '192.0.2.1', 1, 20_000)).toBe(40_000);
    expect(suspects.waitMs('192.0.2.2', 20_000)).toBe(0);
  });

  it('is forgiven when the minute is over', () => {
    const suspects = new Suspects(MOST);
    waitAfter(suspects, '192.0.2.1', 40);
    expect([suspects.waitMs('192.0.2.1', 59_999), suspects.waitMs('192.0.2.1', 60_000)]).toEqual([1, 0]);
    expect(waitAfter(suspects, '192.0.2.1', 1, 60_000)).toBe(0);
  });

  it('is counted with others when there are too many to count, and by itself again when their minute is over', () => {
    const suspects = new Suspects(MOST);
    for (let number = 0; number < 1_000; number += 1) suspects.noteFailure(`host-${number}`, 0);
    for (let number = 0; number < MOST; number += 1) suspects.noteFailure(`further-${number}`, 1);
    expect(suspects.waitMs('never-seen', 1)).toBe(60_000);
    expect(suspects.waitMs('host-1', 1)).toBe(0);
    suspects.noteFailure('later', 61_000);
    expect(suspects.waitMs('never-seen', 61_000)).toBe(0);
  });
});
