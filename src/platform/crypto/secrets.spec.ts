import { createHash } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { hashOf, newSecret } from './secrets.ts';

it('a bearer secret carries 256 bits behind its prefix, and no two are alike', () => {
  const secrets = Array.from({ length: 1_000 }, () => newSecret('sk'));
  expect(new Set(secrets).size).toBe(1_000);
  for (const secret of secrets) expect(Buffer.from(secret.slice('sk_'.length), 'base64url')).toHaveLength(32);
  expect(newSecret('swt')).toMatch(/^swt_[\w-]{43}$/);
});

it('what is kept of a secret is its SHA-256', () => {
  expect(Buffer.from(hashOf('sk_x')).toString('hex')).toBe(createHash('sha256').update('sk_x').digest('hex'));
});
