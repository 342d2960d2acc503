import { describe, expect, it } from '@jest/globals';
import { IdleMarks } from './idle.policy.ts';

const AGENT = 'acct_1/agent_1';

function marked(): IdleMarks {
  const marks = new IdleMarks();
  marks.note(AGENT, marks.generationOf(AGENT), 100);
  return marks;
}

describe('what need not be asked', () => {
  it('is believed for its time, and of this agent only', () => {
    const marks = marked();
    expect([marks.isIdle(AGENT, 50), marks.isIdle(AGENT, 101), marks.isIdle('acct_1/agent_2', 50)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('a poke ends the belief, also when it came while somebody looked', () => {
    const marks = marked();
    const generation = marks.generationOf(AGENT);
    marks.clear(AGENT);
    marks.note(AGENT, generation, 100);
    expect(marks.isIdle(AGENT, 50)).toBe(false);
    const before = marks.generationOf(AGENT);
    marks.clearAll();
    marks.note(AGENT, before, 100);
    expect(marks.isIdle(AGENT, 50)).toBe(false);
  });
});
