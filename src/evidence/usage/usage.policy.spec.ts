import { describe, expect, it } from '@jest/globals';
import { readUsage, runningTotal, spanUsage, sumOfLeaves } from './usage.policy.ts';

describe('a usage report', () => {
  it.each([
    [
      { input_tokens: 10, output_tokens: 3 },
      { input_tokens: 10, output_tokens: 3, total_tokens: 13 },
    ],
    [
      { input_tokens: 10, total_tokens: 99 },
      { input_tokens: 10, total_tokens: 99 },
    ],
    [
      { input_tokens: 10, cached_input_tokens: 4, cache_write_input_tokens: 2, output_tokens: 3 },
      { input_tokens: 10, cached_input_tokens: 4, cache_write_input_tokens: 2, output_tokens: 3, total_tokens: 19 },
    ],
    [
      { model: 'a-model-of-tomorrow', provider: 'nobody', output_tokens: 0 },
      { model: 'a-model-of-tomorrow', provider: 'nobody', output_tokens: 0, total_tokens: 0 },
    ],
    [
      { cost_amount: 0.25, currency: 'USD', cost_source: 'reported' },
      { cost_amount: 0.25, currency: 'USD', cost_source: 'reported' },
    ],
    [{ cost_amount: 1, cost_source: 'guessed' }, { cost_amount: 1 }],
    [
      { input_tokens: 1.5, output_tokens: 2 },
      { output_tokens: 2, total_tokens: 2 },
    ],
    [
      { input_tokens: '7', output_tokens: 2 },
      { output_tokens: 2, total_tokens: 2 },
    ],
    [
      { input_tokens: -1, output_tokens: 2 },
      { output_tokens: 2, total_tokens: 2 },
    ],
    [
      { input_tokens: 2 ** 53, output_tokens: 2 },
      { output_tokens: 2, total_tokens: 2 },
    ],
    [
      { input_tokens: 1, more: { than: 'we know' } },
      { input_tokens: 1, total_tokens: 1 },
    ],
  ])('%j is read as %j', (reported, usage) => {
    expect(readUsage(reported)).toEqual(usage);
  });

  it.each([[undefined], [null], [7], ['7'], [[]], [{}], [{ model: 'm' }], [{ input_tokens: 'many' }]])(
    '%j says nothing',
    (reported) => {
      expect(readUsage(reported)).toBeUndefined();
    },
  );
});

describe('where usage stands', () => {
  const one = { total_tokens: 1 };
  const two = { total_tokens: 2 };
  const three = { total_tokens: 3 };

  it.each([
    [{ usage: one, payload: two }, one],
    [{ payload: two }, two],
    [{ usage: null, payload: two }, two],
    [{ usage: {}, payload: two }, two],
    [{ payload: { text: 'no numbers' } }, undefined],
    [{}, undefined],
  ])('of a running total %j', (event, usage) => {
    expect(runningTotal(event)).toEqual(usage);
  });

  it.each([
    [{ payload: { call_usage: one, usage: two }, usage: three }, one],
    [{ payload: { usage: two }, usage: three }, two],
    [{ payload: {}, usage: three }, three],
    [{ usage: three }, three],
    [{ payload: { total_tokens: 9 } }, undefined],
    [{ payload: 'text' }, undefined],
  ])('of the end of a span %j', (event, usage) => {
    expect(spanUsage(event)).toEqual(usage);
  });
});

describe('the sum of leaf spans', () => {
  it('adds every count and the cost', () => {
    const leaves = [
      { input_tokens: 50, output_tokens: 10, total_tokens: 60, cost_amount: 0.5 },
      { input_tokens: 30, cached_input_tokens: 5, total_tokens: 40, cost_amount: 0.25 },
    ];
    expect(sumOfLeaves(leaves)).toEqual({
      input_tokens: 80,
      cached_input_tokens: 5,
      output_tokens: 10,
      total_tokens: 100,
      cost_amount: 0.75,
    });
  });

  it.each([
    [['a', 'a'], 'a'],
    [['a', 'b'], undefined],
    [['a', undefined], undefined],
  ])('of models %j names %j', (models, model) => {
    const leaves = models.map((name) => ({ total_tokens: 1, ...(name === undefined ? {} : { model: name }) }));
    expect(sumOfLeaves(leaves)?.model).toBe(model);
  });

  it.each([
    [['reported', 'reported'], 'reported'],
    [['reported', 'estimated'], 'estimated'],
    [[undefined, 'reported'], 'reported'],
    [[undefined, undefined], undefined],
  ] as const)('of costs %j is %j', (sources, source) => {
    const leaves = sources.map((name) => ({ total_tokens: 1, ...(name === undefined ? {} : { cost_source: name }) }));
    expect(sumOfLeaves(leaves)?.cost_source).toBe(source);
  });

  it('of nothing is nothing', () => {
    expect(sumOfLeaves([])).toBeUndefined();
  });
});
