import { describe, expect, it } from '@jest/globals';
import { labelProblems } from './labels.policy.ts';

const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`label-${index}`, '']));

describe('the labels of a run', () => {
  it.each([
    ['none', {}],
    ['names that mean something to the language', JSON.parse('{"__proto__": "a", "constructor": "b", "10": ""}')],
    ['fifty', many(50)],
    ['the longest name', { ['n'.repeat(63)]: 'v' }],
    ['one of 9 kB, as F-1 has it', { big: 'x'.repeat(9 * 1_024) }],
    ['ten thousand characters in two', { a: 'x'.repeat(5_000), b: 'x'.repeat(5_000) }],
  ])('may be %s', (_, labels) => {
    expect(labelProblems(labels)).toEqual([]);
  });

  it.each([
    ['fifty-one', many(51), []],
    ['one without a name', { '': 'v' }, ['']],
    ['a name too long', { ['n'.repeat(64)]: 'v' }, ['n'.repeat(64)]],
    ['a number', { a: 'x', n: 7 }, ['n']],
    ['null', { n: null }, ['n']],
    ['an object behind __proto__', JSON.parse('{"__proto__": {"a": 1}}'), ['__proto__']],
    ['more text than that', { a: 'x'.repeat(5_000), b: 'x'.repeat(5_001) }, []],
  ])('may not be %s', (_, labels, path) => {
    expect(labelProblems(labels)).toMatchObject([{ path }]);
  });
});
