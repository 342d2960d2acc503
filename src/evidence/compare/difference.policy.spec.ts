import { describe, expect, it } from '@jest/globals';
import { differencesOf } from './difference.policy.ts';

const between = (left: unknown, right: unknown) =>
  [...differencesOf(left, right)].map(({ path, left: one, right: other }) => [path, one, other]);

describe('two values', () => {
  it.each([
    [1, 1],
    [null, null],
    ['a', 'a'],
    [
      { a: 1, b: [1, { c: null }] },
      { b: [1, { c: null }], a: 1 },
    ],
    [[], []],
    [{}, {}],
    [JSON.parse('{"__proto__":{"z":1}}'), JSON.parse('{"__proto__":{"z":1}}')],
  ])('%j and %j are the same', (left, right) => {
    expect(between(left, right)).toEqual([]);
  });

  it.each([
    [1, 2, [['', 1, 2]]],
    [1, '1', [['', 1, '1']]],
    [null, {}, [['', null, {}]]],
    [[], {}, [['', [], {}]]],
    [{ a: 1 }, {}, [['a', 1, null]]],
    [{}, { a: 1 }, [['a', null, 1]]],
    [{ a: { b: [1, 2] } }, { a: { b: [1, 3, 4] } }, [['a.b[1]', 2, 3], ['a.b[2]', null, 4]]], // prettier-ignore
    [{ 'a b': 1, c: 2 }, { 'a b': 2, c: 3 }, [['["a b"]', 1, 2], ['c', 2, 3]]], // prettier-ignore
    [{}, { constructor: 1 }, [['constructor', null, 1]]],
    [JSON.parse('{"__proto__":1}'), {}, [['__proto__', 1, null]]],
  ])('%j and %j differ at %j', (left, right, differences) => {
    expect(between(left, right)).toEqual(differences);
  });

  it('are walked only as far as somebody asks', () => {
    const endless = Array.from({ length: 100_000 }, (_, index) => index);
    expect(differencesOf(endless, endless.toReversed()).next().value).toMatchObject({ path: '[0]' });
  });
});
