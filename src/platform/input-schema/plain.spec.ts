import { expect, it } from '@jest/globals';
import { partsOfInput, partsOfPlainSchema } from './plain.ts';

it.each([
  ['fields', { type: 'object', properties: { a: { type: 'string' }, b: true }, required: ['a'] }, 4],
  [
    'references, once each time',
    { $defs: { A: { type: 'string' } }, properties: { a: { $ref: '#/$defs/A' }, b: { $ref: '#/$defs/A' } } },
    6,
  ],
  ['choices', { anyOf: [{ type: 'null' }, { enum: [1, 2, 3] }] }, 6],
  ['harmless formats', { items: { format: 'date-time' } }, 2],
])('counts the parts of a plain schema: %s', (_what, schema, parts) => {
  expect(partsOfPlainSchema(schema)).toBe(parts);
});

it.each([
  ['a pattern', { pattern: 'a' }],
  ['a pattern for names', { patternProperties: { a: {} } }],
  ['a format that is a pattern', { format: 'email' }],
  ['unique items', { items: { uniqueItems: true } }],
  ['a reference to itself', { properties: { a: { $ref: '#' } } }],
  ['definitions that refer to each other', { $defs: { A: { $ref: '#/$defs/B' }, B: { $ref: '#/$defs/A' } } }],
  ['a reference to elsewhere', { $ref: 'https://example.com' }],
  ['a reference to a prototype', { $defs: {}, $ref: '#/$defs/constructor' }],
  ['an object among values', { enum: [{ a: 1 }] }],
  ['an unknown keyword', { 'x-check': {} }],
  ['many parts', { properties: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`f${index}`, {}])) }],
  ['many values', { enum: Array.from({ length: 101 }, (_, index) => index) }],
])('does not take for plain: %s', (_what, schema) => {
  expect(partsOfPlainSchema(schema)).toBeUndefined();
});

it('counts the parts of an input, long texts by their length, up to a limit', () => {
  expect(partsOfInput({ a: [1, null, {}] }, 1000)).toBeCloseTo(5 + 1 / 8);
  expect(partsOfInput('x'.repeat(800), 1000)).toBe(101);
  expect(partsOfInput(Array(1_000_000).fill(0), 1000)).toBeGreaterThanOrEqual(1000);
  expect(partsOfInput({ deep: [Array(999).fill([])] }, 500)).toBeGreaterThanOrEqual(500);
});
