import type { KeyRing } from './key-ring.ts';

const FORM = /^([\w-]{1,3500})\.([\w-]{43})$/;

/** `value` as a text that a browser may keep for us and cannot change. `purpose`: what is signed for one proves nothing for another. */
export function writeSigned(ring: KeyRing, purpose: string, value: unknown): string {
  const keyId = ring.active;
  const body = Buffer.from(JSON.stringify([keyId, value])).toString('base64url');
  return `${body}.${ring.sign(`${purpose}:${body}`, keyId).bytes.toString('base64url')}`;
}

/** Undefined for what no key of the ring has signed for this purpose. Each character counts, also in its spare bits. */
export function readSigned(ring: KeyRing, purpose: string, text: string): unknown {
  const [, body = '', mac = ''] = FORM.exec(text) ?? [];
  const bytes = Buffer.from(mac, 'base64url');
  const said = body !== '' && bytes.toString('base64url') === mac ? saidIn(body) : undefined;
  if (!Array.isArray(said) || typeof said[0] !== 'string') return undefined;
  return ring.hasSigned(`${purpose}:${body}`, { keyId: said[0], bytes }) ? said[1] : undefined;
}

function saidIn(body: string): unknown {
  try {
    return JSON.parse(Buffer.from(body, 'base64url').toString('utf8'));
  } catch {
    return undefined;
  }
}
