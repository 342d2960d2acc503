import { describe, expect, it } from '@jest/globals';
import type { Conditions } from '../stage/machine.ts';
import { against, alone, type Figure, type Target } from './figure.ts';
import { noiseIn, regressions, verdictOn } from './verdict.ts';

const QUIET: Conditions = { load: 0.4, cores: 2, otherCores: 0.1 };
const AT_MOST_FIVE: Target = { of: 'ratio', is: 'at most', limit: 5 };
const AT_LEAST_A_QUARTER: Target = { of: 'ratio', is: 'at least', limit: 0.25 };

/** A figure whose pairs have these products over a floor of 1. */
function figure(target: Target, products: readonly number[], guarded = true): Figure {
  return against(
    { name: 'a', unit: 'ms', target, guarded },
    products.map((product) => ({ floor: 1, product })),
  );
}

describe('a figure', () => {
  it('takes the ratio of each pair and then the median, so a slow minute that hits both sides changes nothing', () => {
    const pairs = [
      { floor: 1, product: 3 },
      { floor: 10, product: 31 },
      { floor: 1, product: 2.9 },
    ];
    const measured = against({ name: 'a', unit: 'ms', target: AT_MOST_FIVE }, pairs);
    expect(measured.ratio).toBe(3);
    expect(measured.spread).toBeCloseTo(0.2 / 3, 5);
  });

  it('spreads over what its target looks at: the ratio, or the amount', () => {
    const pairs = [
      { floor: 1, product: 3 },
      { floor: 2, product: 6 },
    ];
    expect(against({ name: 'a', unit: 'ms', target: AT_MOST_FIVE }, pairs).spread).toBe(0);
    expect(against({ name: 'a', unit: 'ms', target: { ...AT_MOST_FIVE, of: 'product' } }, pairs).spread).toBeCloseTo(
      2 / 3,
      5,
    );
  });
});

describe('a verdict', () => {
  it('is met up to the limit and missed beyond it, in both directions', () => {
    expect(verdictOn(figure(AT_MOST_FIVE, [5, 5, 5]), QUIET)).toBe('met');
    expect(verdictOn(figure(AT_MOST_FIVE, [5.1, 5.1, 5.1]), QUIET)).toBe('missed');
    expect(verdictOn(figure(AT_LEAST_A_QUARTER, [0.25, 0.25, 0.25]), QUIET)).toBe('met');
    expect(verdictOn(figure(AT_LEAST_A_QUARTER, [0.2, 0.2, 0.2]), QUIET)).toBe('missed');
  });

  it('is noisy, however good, when the pairs lie apart or the machine was busy, and says which', () => {
    expect(noiseIn(figure(AT_MOST_FIVE, [1, 1.2, 1.4]), QUIET)).toEqual(['spread']);
    const steady = figure(AT_MOST_FIVE, [1, 1, 1]);
    expect(noiseIn(steady, { ...QUIET, load: 2.1 })).toEqual(['load']);
    expect(noiseIn(steady, { ...QUIET, otherCores: 0.6 })).toEqual(['other work']);
    expect(verdictOn(steady, { ...QUIET, load: 2.1 })).toBe('noisy');
    expect(noiseIn(steady, { ...QUIET, otherCores: null })).toEqual([]);
  });
});

describe('a regression', () => {
  it('is a ratio worse by more than 30 %, in the direction that is worse for its target', () => {
    expect(regressions([figure(AT_MOST_FIVE, [2.7])], [figure(AT_MOST_FIVE, [2])])).toHaveLength(1);
    expect(regressions([figure(AT_MOST_FIVE, [2.5])], [figure(AT_MOST_FIVE, [2])])).toHaveLength(0);
    expect(regressions([figure(AT_LEAST_A_QUARTER, [0.3])], [figure(AT_LEAST_A_QUARTER, [0.4])])).toHaveLength(1);
    expect(regressions([figure(AT_LEAST_A_QUARTER, [0.8])], [figure(AT_LEAST_A_QUARTER, [0.4])])).toHaveLength(0);
  });

  it('is never seen in a tail that is not guarded, in a figure without a floor, or without a committed figure', () => {
    expect(regressions([figure(AT_MOST_FIVE, [9], false)], [figure(AT_MOST_FIVE, [2], false)])).toHaveLength(0);
    const amount = (value: number) =>
      alone({ name: 'a', unit: 'MB', target: { ...AT_MOST_FIVE, of: 'product' } }, [value]);
    expect(regressions([amount(900)], [amount(100)])).toHaveLength(0);
    expect(regressions([figure(AT_MOST_FIVE, [9])], [])).toHaveLength(0);
  });
});
