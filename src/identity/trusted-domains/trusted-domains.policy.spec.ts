import { describe, expect, it } from '@jest/globals';
import { domainOf, eligibilityOf } from './trusted-domains.policy.ts';

describe('the domain of an address', () => {
  it.each([
    ['a@Example.COM', 'example.com'],
    ['a@example.com.', 'example.com'],
    ['"a@b"@example.com', 'example.com'],
    ['a@bücher.example', 'xn--bcher-kva.example'],
    ['a@xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['a@localhost', undefined],
    ['a@127.0.0.1', undefined],
    ['a@[::1]', undefined],
    ['@example.com', undefined],
    ['example.com', undefined],
    ['a@', undefined],
    ['a@exa mple.com', undefined],
  ])('%s: %s', (email, domain) => {
    expect(domainOf(email)).toBe(domain);
  });
});

describe('who may have a domain trusted', () => {
  it.each([
    'a@gmail.com',
    'a@GMail.com',
    'a@mail.gmail.com',
    'a@yahoo.co.uk',
    'a@privaterelay.appleid.com',
    'a@localhost',
    'nobody',
  ])('nobody who signs in as %s', (email) => {
    expect(eligibilityOf(email)).toEqual({ domain: null, reason: expect.stringMatching(/./) });
  });

  it.each(['a@example.com', 'a@notgmail.com', 'a@gmail.com.example.org', 'a@aol.example'])('%s', (email) => {
    expect(eligibilityOf(email)).toEqual({ domain: email.slice(2), reason: null });
  });
});
