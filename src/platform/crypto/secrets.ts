import { createHash, randomBytes } from 'node:crypto';

/** A new bearer secret: 256 random bits behind a prefix that no handle has, so that logs can be cleaned by it. */
export function newSecret(prefix: 'sk' | 'swt'): string {
  return `${prefix}_${randomBytes(32).toString('base64url')}`;
}

/** Secrets carry 256 random bits, so one round of SHA-256 is enough; a slow hash is for secrets that people choose. */
export function hashOf(secret: string): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}
