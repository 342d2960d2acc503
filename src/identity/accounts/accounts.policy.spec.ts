import { describe, expect, it } from '@jest/globals';
import { isSlug } from './accounts.policy.ts';

describe('the short name of an account', () => {
  it.each(['abc', 'a-b', '1-2-3', 'acme', 'x'.repeat(63)])('may be %s', (slug) => {
    expect(isSlug(slug)).toBe(true);
  });

  it.each(['', 'ab', 'x'.repeat(64), 'Acme', '-acme', 'acme-', 'a--b', 'a_b', 'a b', 'acmé', 'acme\n'])(
    'may not be %j',
    (slug) => {
      expect(isSlug(slug)).toBe(false);
    },
  );
});
