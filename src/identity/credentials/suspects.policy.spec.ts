import { describe, expect, it } from '@jest/globals';
import { Suspects } from './suspects.policy.ts';

function afterRefusals(suspects: Suspects, address: string, count: number, at = 0): boolean {
  for (let time = 0; time < count; time += 1) suspects.noteRefusal(address, at);
  return suspects.isSuspect(address, at);
}

describe('U-2: a suspect address', () => {
  it('has had thirty refusals within a minute, and is none of its neighbours', () => {
    const suspects = new Suspects();
    expect(afterRefusals(suspects, '192.0.2.1', 29)).toBe(false);
    expect(afterRefusals(suspects, '192.0.2.1', 1)).toBe(true);
    expect(suspects.isSuspect('192.0.2.2', 0)).toBe(false);
  });

  it('is forgiven when the minute is over', () => {
    const suspects = new Suspects();
    afterRefusals(suspects, '192.0.2.1', 40);
    expect([suspects.isSuspect('192.0.2.1', 59_999), suspects.isSuspect('192.0.2.1', 60_000)]).toEqual([true, false]);
    expect(afterRefusals(suspects, '192.0.2.1', 1, 60_000)).toBe(false);
  });

  it('is counted with others when there are too many to count, and by itself again when their minute is over', () => {
    const suspects = new Suspects();
    for (let number = 0; number < 1_000; number += 1) suspects.noteRefusal(`host-${number}`, 0);
    for (let number = 0; number < 30; number += 1) suspects.noteRefusal(`further-${number}`, 1);
    expect(suspects.isSuspect('never-seen', 1)).toBe(true);
    expect(suspects.isSuspect('host-1', 1)).toBe(false);
    suspects.noteRefusal('later', 61_000);
    expect(suspects.isSuspect('never-seen', 61_000)).toBe(false);
  });
});
