import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { REDACTED } from './forms.policy.ts';
import { Matcher, replaced } from './matcher.policy.ts';

const mask = (values: readonly string[], text: string): string => {
  const matcher = Matcher.of(values);
  return replaced(text, matcher.scan(text).ranges);
};
const SECRET = 'p@ss/w?rd "ü" & +s3cret~';

/** How programs write a value into a text. */
const WRITERS: Readonly<Record<string, (value: string) => string>> = {
  plain: (value) => value,
  base64: (value) => Buffer.from(value).toString('base64'),
  'base64 of a header': (value) => Buffer.from(`x:${value}`).toString('base64'),
  'base64 in the middle': (value) => Buffer.from(`user:${value}:more`).toString('base64'),
  base64url: (value) => Buffer.from(`ab${value}z`).toString('base64url'),
  'a URL component': (value) => encodeURIComponent(value),
  'a URL component in lower case': (value) => encodeURIComponent(value).replace(/%../g, (hex) => hex.toLowerCase()),
  'a form': (value) => new URLSearchParams({ q: value }).toString(),
  'a URL': (value) => encodeURI(value),
  'every byte escaped': (value) =>
    [...Buffer.from(value)].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join(''),
  JSON: (value) => JSON.stringify({ value }),
  'JSON in JSON': (value) => JSON.stringify(JSON.stringify({ value })),
  'JSON in ASCII': (value) =>
    JSON.stringify(value).replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  'JSON with every character escaped': (value) =>
    value.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`),
};

/** Whether a value can still be read out of a text by undoing what programs do. */
function holds(text: string, value: string): boolean {
  const bytes = Buffer.from(value);
  const decoded = [0, 1, 2, 3].map((skip) => Buffer.from(text.replace(/[^\w+/-]/g, '').slice(skip), 'base64'));
  return (
    text.includes(value) ||
    Object.values(WRITERS).some((write) => text.includes(write(value))) ||
    decoded.some((one) => one.includes(bytes))
  );
}

describe('a value that was handed out', () => {
  it.each(Object.entries(WRITERS))('F-47: is found as %s', (_, write) => {
    const masked = mask([SECRET], `before ${write(SECRET)} after`);
    expect(masked).toContain(REDACTED);
    expect(masked).toMatch(/^before .* after$/);
    expect(holds(masked, SECRET)).toBe(false);
  });

  it('D-43: is found whatever it is, whatever stands around it, and however it is written', () => {
    const values = fc
      .string({ minLength: 8, maxLength: 40, unit: 'grapheme' })
      .filter((value) => value.trim().length >= 8);
    const around = fc.stringMatching(/^[ -~]{0,20}$/);
    fc.assert(
      fc.property(values, fc.constantFrom(...Object.values(WRITERS)), around, around, (value, write, before, after) => {
        const masked = mask([value], `${before} ${write(value)} ${after}`);
        expect(masked).toContain(REDACTED);
        expect(masked.includes(write(value)) && !before.includes(value) && !after.includes(value)).toBe(false);
      }),
      { numRuns: 700 },
    );
  });

  it.each([
    ['several times', ['secret-one'], 'secret-one, secret-one', `${REDACTED}, ${REDACTED}`],
    ['side by side, as one', ['secret-one', 'secret-two'], 'secret-onesecret-two', REDACTED],
    ['overlapping another', ['abcdefgh12', '12ijklmnop'], 'x abcdefgh12ijklmnop y', `x ${REDACTED} y`],
    ['inside another', ['abcdefgh', 'xxabcdefghxx'], 'xxabcdefghxx', REDACTED],
    ['after its own beginning', ['aaaaaaab'], 'aaaaaaaaaaab', `aaaa${REDACTED}`],
    ['without the line end of its file', ['a-token-of-a-file\n'], 'got a-token-of-a-file!', `got ${REDACTED}!`],
    ['with emoji', ['🔑🔑🔑🔑'], 'a 🔑🔑🔑🔑 b', `a ${REDACTED} b`],
  ])('is masked %s', (_, values, text, expected) => {
    expect(mask(values, text)).toBe(expected);
  });

  it('is found line by line where it has many lines', () => {
    const key = '-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----\n';
    const masked = key.split('\n').map((line) => mask([key], line));
    expect(masked).toEqual(['-----BEGIN KEY-----', REDACTED, REDACTED, '-----END KEY-----', '']);
    expect(mask([key], `log: ${key}`)).toBe(`log: ${REDACTED}`);
  });

  it('is found when it is very long', () => {
    const value = Array.from({ length: 1_000 }, (_, index) => `${index}:${index * index};`).join('');
    expect(mask([value], `a ${value} b`)).toBe(`a ${REDACTED} b`);
    expect(mask([value], Buffer.from(value).toString('base64')).length).toBeLessThan(40);
  });
});

describe('U-57: a short value', () => {
  it.each([
    ['is masked as a word of its own', ['ab1c'], 'ab1c, (ab1c) ab1c', `${REDACTED}, (${REDACTED}) ${REDACTED}`],
    ['is left alone inside of others', ['ab1c'], 'xab1c ab1cd _ab1c éab1c', 'xab1c ab1cd _ab1c éab1c'],
    ['is masked escaped', ['p@ss'], 'q=p%40ss&x', `q=${REDACTED}&x`],
    ['of three characters is no secret', ['abc', 'a', '1'], 'abc a 1', 'abc a 1'],
    ['that is a common word is none either', ['true', 'null', 'test'], 'true null test', 'true null test'],
  ])('%s', (_, values, text, expected) => {
    expect(mask(values, text)).toBe(expected);
  });
});

it('a text without any of the values stays as it is', () => {
  fc.assert(
    fc.property(fc.array(fc.uuid(), { maxLength: 5 }), fc.string({ maxLength: 200 }), (values, text) => {
      expect(mask(values, text)).toBe(text);
    }),
  );
});

it('D-43: how much of the end of a text may be the beginning of a value is known', () => {
  const matcher = Matcher.of(['secret-value']);
  expect(matcher.scan('nothing').open).toBe(0);
  expect(matcher.scan('the secret-val').open).toBe('secret-val'.length);
  expect(matcher.scan('the secret-value').open).toBeLessThan(4);
});

it('no values cost nothing and find nothing', () => {
  const matcher = Matcher.of(['', 'a', 'yes']);
  expect(matcher.isEmpty).toBe(true);
  expect(matcher.scan('a yes').ranges).toEqual([]);
});
