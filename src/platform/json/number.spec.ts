import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isKeptByDouble } from './number.ts';

it.each(['0', '-0', '1', '-9007199254740991', '9007199254740992', '1000000000000000000000', '10000000000000000000000'])(
  'keeps the integer %s',
  (literal) => expect(isKeptByDouble(literal)).toBe(true),
);

it.each(['9007199254740993', '-9007199254740993', '1152921504606846976', '1180591620717411303424', '9'.repeat(400)])(
  'does not keep the integer %s',
  (literal) => expect(isKeptByDouble(literal)).toBe(false),
);

it.each(['0.1', '1e-400', '12345678901234567890.5', '1e308', '1.7976931348623157e308', '1721736123.123456789'])(
  'lets the fraction %s be rounded',
  (literal) => expect(isKeptByDouble(literal)).toBe(true),
);

it.each(['1e309', '-1e309', '1e99999', `${'9'.repeat(309)}.0`])('does not let %s become Infinity', (literal) => {
  expect(isKeptByDouble(literal)).toBe(false);
});

it('keeps exactly those integers which come out as they went in', () => {
  const aroundDoubles = fc.tuple(fc.bigInt(-(10n ** 25n), 10n ** 25n), fc.boolean());
  fc.assert(
    fc.property(aroundDoubles, ([integer, isDouble]) => {
      const literal = String(isDouble ? BigInt(Number(integer)) : integer);
      const [mantissa = '', exponent = '0'] = JSON.stringify(Number(literal)).split('e');
      const [whole = '', fraction = ''] = mantissa.split('.');
      const written = BigInt(whole + fraction) * 10n ** (BigInt(exponent) - BigInt(fraction.length));
      expect(isKeptByDouble(literal)).toBe(written === BigInt(literal));
    }),
  );
});
