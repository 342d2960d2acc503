import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { scanJson, type JsonHazards } from './scan.ts';

const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 8 })
  .map((units) => String.fromCharCode(...units));
const anyValue = fc.jsonValue({ stringUnit: anyText.map((text) => text.slice(0, 1)).filter((text) => text !== '') });
const HARMLESS = { hasNul: false, hasLoneSurrogate: false, hasSuspectNumber: false, hasInvalidUtf8: false };

it('finds nothing but depth in text with brackets, quotes, backslashes and pairs', () => {
  const value = {
    '[[{"': ['}]', '\\', '\\"', '\\u0000', '\u{1f600}', 1, -2.5e-7, 0.125, 999999999999999],
  };
  expect(scan(JSON.stringify(value))).toEqual({ ...HARMLESS, depth: 2 });
  expect(scan('[0.12345678901234567890, -1234567.12345678901234567890e-12]')).toEqual({ ...HARMLESS, depth: 1 });
  expect(scan('["\\ud83d\\ude00", "\\uD83D\\uDE00", "\\\\ud83d", "\\u0001", "\\u00000"]').hasLoneSurrogate).toBe(false);
});

it.each([
  ['"\\u0000"', 'hasNul'],
  ['{"a\\u0000":1}', 'hasNul'],
  ['"\\\\\\u0000"', 'hasNul'],
  ['"\\ud83d"', 'hasLoneSurrogate'],
  ['"\\ude00\\ud83d"', 'hasLoneSurrogate'],
  ['"\\uD83D\\n"', 'hasLoneSurrogate'],
  ['"\\ud83d\\ud83d\\ude00"', 'hasLoneSurrogate'],
  ['{"\\uDFFF":1}', 'hasLoneSurrogate'],
  ['9007199254740993', 'hasSuspectNumber'],
  ['[-9007199254740993]', 'hasSuspectNumber'],
  ['1e309', 'hasSuspectNumber'],
  ['1E+309', 'hasSuspectNumber'],
  [`${'9'.repeat(308)}.5e9`, 'hasSuspectNumber'],
] as const)('%s is seen as %s', (text, hazard) => {
  expect(scan(text)).toEqual({ ...HARMLESS, depth: expect.any(Number), [hazard]: true });
});

it.each(['\\u0000', '\\\\u0000', '0', 'd'])('does not take "\\\\%s" for an escape', (text) => {
  expect(scan(`"\\\\${text.replaceAll('\\', '\\\\')}"`)).toEqual({ ...HARMLESS, depth: 0 });
});

it('sees bytes that are not UTF-8, encoded surrogates among them', () => {
  expect(scanJson(Buffer.from([0x22, 0xff, 0x22])).hasInvalidUtf8).toBe(true);
  expect(scanJson(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])).hasInvalidUtf8).toBe(true);
});

it('says of every JSON value how deep it is and whether its texts hold NUL or half a pair', () => {
  fc.assert(
    fc.property(anyValue, fc.nat(3), (value, space) => {
      const hazards = scan(JSON.stringify(value, null, space));
      const texts = textsIn(value);
      expect(hazards.depth).toBe(levelsOf(value));
      expect(hazards.hasNul).toBe(texts.some((text) => text.includes('\0')));
      expect(hazards.hasLoneSurrogate).toBe(texts.some((text) => !text.isWellFormed()));
      expect(hazards.hasInvalidUtf8).toBe(false);
    }),
  );
});

it('trusts no number that reading and writing changes', () => {
  const digits = fc.stringMatching(/^(0|[1-9]\d{0,40})$/);
  fc.assert(
    fc.property(digits, fc.stringMatching(/^(\.\d{1,30})?([eE][+-]?\d{1,4})?$/), (whole, rest) => {
      const literal = whole + rest;
      const isInteger = rest === '';
      const isLost = isInteger ? BigInt(whole) > 2n ** 53n : !Number.isFinite(Number(literal));
      if (isLost) expect(scan(`[${literal}]`).hasSuspectNumber).toBe(true);
      if (isInteger && whole.length <= 15) expect(scan(`[${literal}]`).hasSuspectNumber).toBe(false);
    }),
  );
});

it('takes any bytes', () => {
  fc.assert(fc.property(fc.uint8Array(), (bytes) => scanJson(Buffer.from(bytes)).depth >= 0));
  for (const text of ['', '"', '"\\', '"\\u', '"\\ud8', '"\\ud83d\\u', '[[', ']]', '1e', '1.', '12345678901234567'])
    scan(text);
});

function scan(text: string): JsonHazards {
  return scanJson(Buffer.from(text));
}

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, child]) => [key, ...textsIn(child)]);
}

function levelsOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(levelsOf));
}
