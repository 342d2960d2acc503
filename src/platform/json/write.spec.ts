import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeepJson } from './deep-json.ts';
import { canonicalJson, sha256OfCanonical, writeJson } from './write.ts';

it('writes what JSON.stringify writes', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) =>
      expect(writeJson(value)).toBe(JSON.stringify(value)),
    ),
  );
  expect(writeJson({ a: undefined, b: [undefined], c: NaN })).toBe('{"b":[null],"c":null}');
});

it('writes 20,000 levels, where JSON.stringify overflows the stack', () => {
  const text = `${'[{"a":'.repeat(10_000)}1${'}]'.repeat(10_000)}`;
  const value = JSON.parse(text) as unknown;
  expect(() => JSON.stringify(value)).toThrow(RangeError);
  expect(writeJson(value)).toBe(text);
  expect(canonicalJson(value)).toBe(text);
});

it('writes what was kept as text as the JSON it is', () => {
  expect(writeJson({ a: [new DeepJson('[[ 1 ]]', 2)] })).toBe('{"a":[[[ 1 ]]]}');
});

it('has one canonical text for a value, whatever the order of its keys', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});

it('writes the examples of RFC 8785', () => {
  const numbers =
    '{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\\u20ac$\\u000F\\u000aA\'\\u0042\\u0022\\u005c\\\\\\"\\/","literals":[null,true,false]}';
  expect(canonicalJson(JSON.parse(numbers))).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  );
  const keys = '{"\\u20ac":1,"\\r":2,"\\ufb33":3,"1":4,"\\ud83d\\ude00":5,"\\u0080":6,"\\u00f6":7}';
  expect(canonicalJson(JSON.parse(keys))).toBe('{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"\u{1f600}":5,"\ufb33":3}');
});

it('writes -0 as 0, keeps __proto__, and refuses what JSON has no number for', () => {
  expect(canonicalJson([-0])).toBe('[0]');
  expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"z":1}}'))).toBe('{"__proto__":{"z":1},"b":1}');
  expect(() => canonicalJson([NaN])).toThrow(TypeError);
});

it('hashes the canonical text', () => {
  const expected = createHash('sha256').update('{"a":1,"b":"é"}', 'utf8').digest();
  expect(sha256OfCanonical({ b: 'é', a: 1 }).equals(expected)).toBe(true);
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.create(null) as Record<string, unknown>;
  for (const [key, child] of Object.entries(value).reverse()) copy[key] = reversed(child);
  return copy;
}
