import { describe, expect, it } from '@jest/globals';
import { IdleMarks } from './idle.policy.ts';

const AGENT = 'acct_1/agent_1';

function marked(hasLiveRun: boolean): IdleMarks {
  const marks = new IdleMarks();
  marks.note(AGENT, marks.generationOf(AGENT), { until: 100, hasLiveRun });
  return marks;
}

describe('what need not be asked', () => {
  it.each([
    ['without a mark', new IdleMarks(), true, false],
    ['no live run', marked(false), false, true],
    ['a live run, and a worker that may hold it', marked(true), false, false],
    ['a live run, and a worker that holds nothing', marked(true), true, true],
  ])('%s', (_, marks, isKnownFree, isIdle) => {
    expect(marks.isIdle(AGENT, isKnownFree, 50)).toBe(isIdle);
    expect(marks.isIdle(AGENT, isKnownFree, 101)).toBe(false);
  });

  it('a poke ends the belief, also when it came while somebody looked', () => {
    const marks = marked(false);
    const generation = marks.generationOf(AGENT);
    marks.clear(AGENT);
    marks.note(AGENT, generation, { until: 100, hasLiveRun: false });
    expect(marks.isIdle(AGENT, true, 50)).toBe(false);
    const before = marks.generationOf(AGENT);
    marks.clearAll();
    marks.note(AGENT, before, { until: 100, hasLiveRun: false });
    expect(marks.isIdle(AGENT, true, 50)).toBe(false);
  });
});
