import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readCarefully, type Flaw } from './careful-reader.ts';
import { DeepJson } from './deep-json.ts';
import { formatPath } from './path.ts';
import { scanJson, type JsonHazards } from './scan.ts';

const TRUSTING: JsonHazards = {
  depth: 0,
  hasNul: false,
  hasLoneSurrogate: false,
  hasSuspectNumber: false,
  hasInvalidUtf8: false,
};

const NOT_JSON = 'not JSON';

it('reads whatever JSON.parse reads, to the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'grapheme' }), fc.nat(3), (value, space) => {
      const text = JSON.stringify(value, null, space);
      expect(JSON.stringify(read(text))).toBe(JSON.stringify(JSON.parse(text)));
    }),
  );
});

it('refuses whatever JSON.parse refuses', () => {
  const mutation = fc.record({
    at: fc.nat(),
    removed: fc.nat(2),
    added: fc.constantFrom('', ...'[]{},:"\\u0e-+. \n\t\u0001x'),
  });
  const text = fc.json({ maxDepth: 3 });
  fc.assert(
    fc.property(text, fc.array(mutation, { minLength: 1, maxLength: 2 }), (valid, mutations) => {
      const mutated = mutations.reduce(mutate, valid);
      const read = (maxBuiltDepth: number) =>
        readCarefully(Buffer.from(mutated), TRUSTING, { maxBuiltDepth, onFlaw: ignore });
      expect(outcome(() => read(99))).toBe(outcome(() => JSON.parse(mutated) as unknown));
      expect(outcome(() => read(0)) === NOT_JSON).toBe(outcome(() => read(99)) === NOT_JSON);
    }),
    { numRuns: 500 },
  );
});

it.each([
  '',
  ' ',
  '[',
  '[1',
  '[1,',
  '[1,]',
  '{"a"',
  '{"a":',
  '{"a":1',
  '{"a":1,}',
  '{a:1}',
  '"',
  '"\\',
  '"\\x"',
  '"\n"',
])('%j is not JSON', (text) => expect(() => read(text)).toThrow(SyntaxError));

it.each(['01', '+1', '.5', '1.', '1e', '1e+', '-', '--1', 'tru', 'nul', 'NaN', 'Infinity', '1 2', '\ufeff1', "'a'"])(
  '%j is not JSON either',
  (text) => expect(() => read(text)).toThrow(SyntaxError),
);

it('keeps __proto__ and constructor as ordinary keys, and the last of two equal ones', () => {
  const value = read('{"__proto__":{"z":1},"constructor":{"prototype":2},"x.999999999.y":3,"a":1,"a":2}') as object;
  expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  expect(Object.entries(value)).toEqual([
    ['__proto__', { z: 1 }],
    ['constructor', { prototype: 2 }],
    ['x.999999999.y', 3],
    ['a', 2],
  ]);
  expect(({} as Record<string, unknown>)['z']).toBeUndefined();
});

it('replaces what cannot be kept and tells where', () => {
  const { value, told } = readTelling(
    '{"a":[1,"x\\u0000\\ud800y"],"k\\udc00":{"n":-9007199254740993},"big":1e999,"fine":[0.1,1e-400]}',
  );
  expect(value).toEqual({
    a: [1, 'x\ufffd\ufffdy'],
    'k\ufffd': { n: '-9007199254740993' },
    big: '1e999',
    fine: [0.1, 0],
  });
  expect(told).toEqual([
    ['a[1]', 'text_nul'],
    ['["k\ufffd"]', 'text_lone_surrogate'],
    ['["k\ufffd"].n', 'number_inexact'],
    ['big', 'number_inexact'],
  ]);
});

it('tells bytes that are not UTF-8, and keeps what is', () => {
  const body = Buffer.concat([Buffer.from('{"good":"é","bad":"a'), Buffer.from([0xff]), Buffer.from('b"}')]);
  expect(readTelling(body)).toEqual({ value: { good: 'é', bad: 'a\ufffdb' }, told: [['bad', 'text_not_utf8']] });
});

it.each([0, 1, 2, 3])('keeps as text what is nested below level %i', (maxBuiltDepth) => {
  const text = '[0,{"a":[[1, "\\u0000"],{"b":[ ]}],"c":"\\u0000"}]';
  const { value, told } = readTelling(text, maxBuiltDepth);
  const kept = maxBuiltDepth < 2 ? text : text.replace(',"c":"\\u0000"', ',"c":"\ufffd"');
  expect(JSON.stringify(unfold(value))).toBe(JSON.stringify(JSON.parse(kept)));
  expect(depthsIn(value)).toEqual([[5], [4], [3], [1, 2]][maxBuiltDepth]);
  expect(told).toEqual(maxBuiltDepth < 2 ? [] : [['[1].c', 'text_nul']]);
});

it('reads 200,000 levels without running out of stack', () => {
  const text = `${'[{"a":'.repeat(100_000)}1${'}]'.repeat(100_000)}`;
  const value = readTelling(text, 128).value;
  expect(depthsIn(value)).toEqual([200_000 - 128]);
});

function ignore(): void {
  // A flaw does not matter to a test of the grammar.
}

function read(text: string): unknown {
  return readCarefully(Buffer.from(text), TRUSTING, { maxBuiltDepth: 1000, onFlaw: ignore });
}

function readTelling(body: string | Buffer, maxBuiltDepth = 1000): { value: unknown; told: [string, Flaw][] } {
  const bytes = Buffer.from(body);
  const told: [string, Flaw][] = [];
  const onFlaw = (flaw: Flaw, pathOf: () => readonly (string | number)[]) => told.push([formatPath(pathOf()), flaw]);
  return { value: readCarefully(bytes, scanJson(bytes), { maxBuiltDepth, onFlaw }), told };
}

function mutate(text: string, { at, removed, added }: { at: number; removed: number; added: string }): string {
  const place = at % (text.length + 1);
  return text.slice(0, place) + added + text.slice(place + removed);
}

function outcome(readIt: () => unknown): string {
  try {
    return JSON.stringify(readIt());
  } catch (error) {
    if (error instanceof SyntaxError) return NOT_JSON;
    throw error;
  }
}

/** The value with everything built. */
function unfold(value: unknown): unknown {
  if (value instanceof DeepJson) return JSON.parse(value.text);
  if (Array.isArray(value)) return value.map(unfold);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, unfold(child)]));
}

function depthsIn(value: unknown): number[] {
  if (value instanceof DeepJson) return [value.depth];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(depthsIn) : [];
}
