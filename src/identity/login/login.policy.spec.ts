import { describe, expect, it } from '@jest/globals';
import { safeNext, underWayIn, vouchedIn } from './login.policy.ts';

describe('U-36: where a sign-in leads', () => {
  it.each(['/', '/agents', '/runs/run_1?tab=spans#last', '/a%20b'])('is a path of ours: %s', (path) => {
    expect(safeNext(path)).toBe(path);
  });

  it('is written so that a header can hold it', () => {
    expect(safeNext('/ä 💥?q=ö')).toBe('/%C3%A4%20%F0%9F%92%A5?q=%C3%B6');
  });

  it.each([
    '//evil.test',
    '/..//evil.test',
    '/./%2e%2e//evil.test',
    '/x/../auth/logout',
    '/\\evil.test',
    '\\/evil.test',
    '/%2f%2fevil.test/..',
    '/%2Fevil.test',
    '/%5Cevil.test',
    'https://evil.test',
    'javascript:alert(1)',
    '/a\r\nSet-Cookie: x=1',
    '/%0d%0aSet-Cookie:x',
    ' /a',
    '/%',
    '/auth',
    '/auth/logout',
    `/${'a'.repeat(2_000)}`,
    '',
  ])('is nothing else: %j', (path) => {
    expect(safeNext(path)).toBe('/');
  });
});

describe('whom a provider vouches for', () => {
  const claims = { iss: 'https://sso.test', sub: '7', email: 'ann@acme.test', email_verified: true, name: 'Ann' };

  it('has the address that it has verified', () => {
    expect(vouchedIn(claims)).toMatchObject({ issuer: 'https://sso.test', subject: '7', email: 'ann@acme.test' });
  });

  it.each([
    { email_verified: false },
    { email_verified: 'true' },
    { email_verified: undefined },
    { email: 'a@b@c' },
    { email: 'ann acme@test' },
    { email: `${'a'.repeat(320)}@b` },
    { email: 7 },
  ])('has none otherwise: %j', (change) => {
    expect(vouchedIn({ ...claims, ...change }).email).toBeUndefined();
  });
});

it('a sign-in that took too long is under way no more', () => {
  const under = { state: 's', nonce: 'n', verifier: 'v', next: '/', isSilent: true, endsAtMs: 10 };
  expect(underWayIn(under, 9)).toEqual(under);
  expect(underWayIn(under, 10)).toBeUndefined();
  for (const other of [undefined, null, 'text', [], {}, { ...under, state: 7 }])
    expect(underWayIn(other, 0)).toBeUndefined();
});
