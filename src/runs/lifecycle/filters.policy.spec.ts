import { describe, expect, it } from '@jest/globals';
import { textFilters } from './filters.policy.ts';

const NOW = new Date('2026-11-30T12:00:00Z');
const RANGE = { agent_id: 'a', from: '2026-10-30T12:00:00Z' };

describe('a list of runs by what no index answers', () => {
  it.each([
    [{}, null, null],
    [{ status: 'failed', unknown: 'x', 'labelx.a': 'b' }, null, null],
    [{ ...RANGE, error_text: 'Timeout' }, 'Timeout', null],
    [{ ...RANGE, 'label.team': 'blue', 'label.a.b': '' }, null, '{"team":"blue","a.b":""}'],
    [{ ...RANGE, 'label.__proto__': 'x' }, null, '{"__proto__":"x"}'],
    [{ agent_id: 'a', from: '2020-01-01T00:00:00Z', to: '2020-02-01T00:00:00Z', error_text: 'x' }, 'x', null],
  ])('is asked for with %j', (query, errorText, labels) => {
    expect(textFilters(query, NOW)).toEqual({ filters: { errorText, labels } });
  });

  it.each([
    [{ error_text: 'x', 'label.a': 'b' }, ['error_text', 'label.a']],
    [{ ...RANGE, agent_id: undefined, error_text: 'x' }, ['error_text']],
    [{ agent_id: 'a', 'label.team': 'blue' }, ['label.team']],
    [{ ...RANGE, from: '2026-10-30T11:59:59Z', 'label.team': 'blue' }, ['label.team']],
    [{ ...RANGE, 'label.': 'blue' }, ['label.']],
    [{ ...RANGE, 'label.team': ['blue', 'red'] }, ['label.team']],
    [{ ...RANGE, 'label.team': 'x'.repeat(10_001) }, ['label.team']],
  ])('is not asked for with %j', (query, names) => {
    expect(textFilters(query, NOW)).toEqual({
      problems: names.map((name) => expect.objectContaining({ loc: ['query', name] })),
    });
  });
});
