import { createHmac, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { StartRefused } from '../config/config.ts';
import { KeyRing } from './key-ring.ts';

let directory: string;
beforeAll(() => void (directory = fs.mkdtempSync(path.join(os.tmpdir(), 'keys-'))));
afterAll(() => fs.rmSync(directory, { recursive: true }));

const key = (): string => randomBytes(32).toString('base64');
const ringOf = (keys: Readonly<Record<string, string>>, active: string): KeyRing =>
  KeyRing.parse(JSON.stringify({ active, keys }), 'SIGNALBOX_KEYS');

describe('a key ring', () => {
  it('opens what it sealed, for the row it was sealed for', () => {
    const ring = ringOf({ one: key() }, 'one');
    const sealed = ring.seal('the secret ü', 'acct_1/key_1');
    expect(sealed.keyId).toBe('one');
    expect(sealed.bytes.includes('secret')).toBe(false);
    expect(ring.open(sealed, 'acct_1/key_1')).toBe('the secret ü');
    expect(() => ring.open(sealed, 'acct_1/key_2')).toThrow();
  });

  it('seals the same text differently each time', () => {
    const ring = ringOf({ one: key() }, 'one');
    expect(ring.seal('x', 'row').bytes.equals(ring.seal('x', 'row').bytes)).toBe(false);
  });

  it('opens nothing that was changed or cut', () => {
    const ring = ringOf({ one: key() }, 'one');
    const { keyId, bytes } = ring.seal('x', 'row');
    for (const position of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(() => ring.open({ keyId, bytes: changed }, 'row')).toThrow();
    }
    expect(() => ring.open({ keyId, bytes: bytes.subarray(0, bytes.length - 1) }, 'row')).toThrow();
  });

  it('opens with an older key what a newer one no longer seals', () => {
    const [older, newer] = [key(), key()];
    const sealed = ringOf({ older }, 'older').seal('kept', 'row');
    const both = ringOf({ older, newer }, 'newer');
    expect(both.open(sealed, 'row')).toBe('kept');
    expect(both.seal('x', 'row').keyId).toBe('newer');
    expect(ringOf({ newer }, 'newer').missing(['older', 'newer'])).toEqual(['older']);
  });

  it.each([
    ['no JSON', '{'],
    ['a short key', JSON.stringify({ active: 'a', keys: { a: Buffer.alloc(31).toString('base64') } })],
    ['a key that is no base64', JSON.stringify({ active: 'a', keys: { a: '%' } })],
    ['no keys', JSON.stringify({ active: 'a' })],
    ['an active key that is none of its keys', JSON.stringify({ active: 'b', keys: { a: key() } })],
    ['an active key that only every object has', JSON.stringify({ active: 'toString', keys: { a: key() } })],
  ])('U-64: refuses the start for %s, naming where it stands and showing none of it', (_, text) => {
    const [, secret = 'none at all'] = /"a":"([^"]{10,})"/.exec(text) ?? [];
    const refusal = thrownBy(() => KeyRing.parse(text, 'SIGNALBOX_KEYS'));
    expect(refusal).toBeInstanceOf(StartRefused);
    expect(refusal.message).toMatch(/^SIGNALBOX_KEYS/);
    expect(refusal.message).not.toContain(secret);
    expect(refusal.cause).toBeUndefined();
  });
});

describe('a signature of a key ring', () => {
  it('is the same for the same text and key, and proves no other text, key or bytes', () => {
    const keys = { one: key(), two: key() };
    const ring = ringOf(keys, 'one');
    const signature = ring.sign('said');
    expect(ringOf(keys, 'two').sign('said', 'one')).toEqual(signature);
    expect(ringOf(keys, 'two').hasSigned('said', signature)).toBe(true);
    const bent = Buffer.from(signature.bytes);
    bent.writeUInt8(bent.readUInt8(0) ^ 1);
    for (const [text, forged] of [
      ['said otherwise', signature],
      ['said', { ...signature, keyId: 'two' }],
      ['said', { ...signature, keyId: 'none' }],
      ['said', { ...signature, bytes: bent }],
      ['said', { ...signature, bytes: signature.bytes.subarray(1) }],
      ['said', { ...signature, bytes: Buffer.alloc(0) }],
    ] as const)
      expect(ring.hasSigned(text, forged)).toBe(false);
  });

  it('is made with another key than the one that seals', () => {
    const secret = key();
    const bare = createHmac('sha256', Buffer.from(secret, 'base64')).update('said').digest();
    expect(ringOf({ one: secret }, 'one').sign('said').bytes.equals(bare)).toBe(false);
  });
});

describe('the file of a key ring', () => {
  it('is made once, and its owner alone can read it', () => {
    const file = path.join(directory, 'made.json');
    const sealed = KeyRing.load(file, true).seal('kept', 'row');
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
    expect(KeyRing.load(file, true).open(sealed, 'row')).toBe('kept');
  });

  it('takes a further key, whole or not at all, which seals once it is used and in the next start', () => {
    const file = path.join(directory, 'further.json');
    const ring = KeyRing.load(file, true);
    const sealed = ring.seal('kept', 'row');
    const before = ring.active;
    const id = ring.create();
    expect([ring.active, KeyRing.load(file, false).wanted, KeyRing.load(file, false).has(id)]).toEqual([
      before,
      before,
      true,
    ]);
    ring.use(id);
    ring.keepChoice();
    expect(ring.seal('x', 'row').keyId).toBe(id);
    const next = KeyRing.load(file, false);
    expect([next.wanted, next.open(sealed, 'row'), fs.statSync(file).mode & 0o777]).toEqual([id, 'kept', 0o600]);
    expect(fs.readdirSync(directory).filter((name) => name.endsWith('.new'))).toEqual([]);
  });

  it('U-64: is not made anew over values that its keys opened', () => {
    const file = path.join(directory, 'missing.json');
    expect(() => KeyRing.load(file, false)).toThrow(`${file} is missing`);
    expect(fs.existsSync(file)).toBe(false);
  });

  it('U-64: names itself when it holds no key ring', () => {
    const file = path.join(directory, 'broken.json');
    fs.writeFileSync(file, '');
    expect(() => KeyRing.load(file, true)).toThrow(`${file} must be JSON`);
  });
});

function thrownBy(work: () => unknown): Error {
  try {
    work();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('Nothing was thrown');
}
