import { describe, expect, it } from '@jest/globals';
import { currencyOf, datesOf, modelMix, sumUp, titleOf } from './activity.policy.ts';
import type { DayGroup, ModelGroup } from './activity.store.ts';

const GROUP: DayGroup = {
  agent_id: 'a',
  date: '2026-11-30',
  status: 'succeeded',
  currency: 'USD',
  cost_source: 'reported',
  runs: 1,
  cost: 1,
};
const group = (more: Partial<DayGroup>): DayGroup => ({ ...GROUP, ...more });

describe('the sums of runs', () => {
  it('count each status once, and keep what was reported apart from what was estimated', () => {
    const groups = [
      group({ runs: 2, cost: 0.5 }),
      group({ runs: 1, cost: 0.25, cost_source: 'estimated' }),
      group({ runs: 3, status: 'failed', cost: null, currency: null, cost_source: null }),
      group({ runs: 4, status: 'cancelled', cost: 2, cost_source: null }),
      ...(['queued', 'claimed', 'running'] as const).map((status) => group({ status, cost: null, currency: null })),
    ];
    expect(sumUp(groups, 'USD')).toEqual({
      ...{ runs: 13, succeeded: 3, failed: 3, active: 3 },
      ...{ cost_amount: 2.75, cost_reported: 2.5, cost_estimated: 0.25, currency: 'USD' },
      buckets: [expect.objectContaining({ date: '2026-11-30', runs: 13, cost_amount: 2.75 })],
      other_currencies: [],
    });
  });

  it('never add up two currencies', () => {
    const groups = [
      group({ cost: 1 }),
      group({ cost: 5, currency: 'EUR' }),
      group({ cost: 7, currency: 'EUR', cost_source: 'estimated' }),
    ];
    expect(sumUp(groups, 'USD')).toMatchObject({
      runs: 3,
      cost_amount: 1,
      other_currencies: [{ currency: 'EUR', cost_reported: 5, cost_estimated: 7, cost_amount: 12 }],
    });
  });

  it('have a bucket for each day, also where nothing ran', () => {
    const dates = datesOf(new Date('2026-11-30T23:59:59.999Z'), 3);
    expect(dates).toEqual(['2026-11-28', '2026-11-29', '2026-11-30']);
    const { buckets } = sumUp([group({ date: '2026-11-29' })], 'USD', dates);
    expect(buckets.map(({ date, runs }) => [date, runs])).toEqual([
      ['2026-11-28', 0],
      ['2026-11-29', 1],
      ['2026-11-30', 0],
    ]);
  });

  it('are there without any run', () => {
    expect(sumUp([], 'USD')).toMatchObject({ runs: 0, cost_amount: 0, buckets: [] });
  });
});

describe('the currency of a sum', () => {
  it.each([
    [[], 'USD'],
    [[group({ currency: null, cost: null })], 'USD'],
    [[group({ currency: 'EUR', cost: 9 }), group({ cost: 0.1 })], 'USD'],
    [[group({ currency: 'CHF', cost: 2 }), group({ currency: 'EUR', cost: 3 })], 'EUR'],
  ])('%#', (groups, currency) => {
    expect(currencyOf(groups)).toBe(currency);
  });
});

it('the mix of models has each model of a provider once, the busiest first', () => {
  const { date: _, status: _status, ...rest } = GROUP;
  const of = (model: string, more: Partial<ModelGroup> = {}): ModelGroup => ({
    ...rest,
    agent_id: 'a',
    model,
    provider: 'p',
    ...more,
  });
  expect(
    modelMix(
      [
        of('small'),
        of('large', { runs: 3 }),
        of('large', { cost_source: 'estimated', cost: 2 }),
        of('large', { provider: null }),
      ],
      'USD',
    ),
  ).toMatchObject([
    { model: 'large', provider: 'p', runs: 4, cost_amount: 3, cost_reported: 1, cost_estimated: 2 },
    { model: 'large', provider: null, runs: 1 },
    { model: 'small', provider: 'p', runs: 1 },
  ]);
});

describe('the title of a run', () => {
  it.each([
    [{ prompt: '  Do \n this ' }, 'Do this'],
    [{ prompt: ' ', message: 'That' }, 'That'],
    [{ prompt: 7, question: 'Which?' }, 'Which?'],
    [{}, 'agent'],
    [{ title: 'x'.repeat(500) }, `${'x'.repeat(119)}…`],
  ])('of %j', (input, title) => {
    expect(titleOf({ input, handle: 'agent', id: 'run_1' })).toBe(title);
    expect(titleOf({ input: {}, handle: null, id: 'run_1' })).toBe('run_1');
  });
});
