import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { StartRefused } from '../config/config.ts';

/** The token under which the process's key ring is injected. */
export const KEY_RING = Symbol('KEY_RING');

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const OWNER_ONLY = 0o600;

const StoredKeys = z.object({
  active: z.string(),
  keys: z.record(
    z.string(),
    z
      .base64()
      .transform((text) => Buffer.from(text, 'base64'))
      .refine((key) => key.length === KEY_BYTES, `a key has ${KEY_BYTES} bytes`),
  ),
});

/** A value that only a key of the ring opens, bound to the row it was sealed for. */
export interface Sealed {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** What proves that a text was said by somebody who holds the key. */
export interface Signature {
  readonly keyId: string;
  readonly bytes: Buffer;
}

export type KeySource = 'file' | 'environment';

/**
 * The keys that seal what must be readable again. They live outside the database, so that a copy of it opens nothing. Which
 * of them seals is decided by the installation, not by a process: see the room vault.
 */
export class KeyRing {
  /** The key that whoever wrote the ring wants to seal with. */
  readonly wanted: string;
  private sealing: string;
  private readonly keys: Map<string, Buffer>;
  private readonly signers = new Map<string, Buffer>();
  /** Where a new key can be written; undefined for a ring from the environment. */
  private readonly file: string | undefined;

  private constructor({ active, keys }: z.output<typeof StoredKeys>, source: string, file: string | undefined) {
    if (!Object.hasOwn(keys, active))
      throw new StartRefused(`${source}: the active key ${active} is not among its keys`);
    this.wanted = active;
    this.sealing = active;
    this.keys = new Map(Object.entries(keys));
    this.file = file;
  }

  /** @throws StartRefused when `text` is no key ring; `source` names the setting or the file. */
  static parse(text: string, source: string, file?: string): KeyRing {
    try {
      return new KeyRing(StoredKeys.parse(JSON.parse(text)), source, file);
    } catch (error) {
      if (error instanceof StartRefused) throw error;
      throw new StartRefused(`${source} must be JSON {"active", "keys": {id: base64 of 32 bytes}}`); // the cause would show keys
    }
  }

  /** Reads `file`; makes it, readable by its owner only, where it is missing and `mayCreate` says that nothing is lost by it. */
  static load(file: string, mayCreate: boolean): KeyRing {
    if (!fs.existsSync(file)) {
      if (!mayCreate)
        throw new StartRefused(
          `${file} is missing, and this installation seals with a key that it held: restore it, or set SIGNALBOX_KEYS`,
        );
      const id = newKeyId();
      writeWhole(file, { active: id, keys: { [id]: randomBytes(KEY_BYTES) } });
    }
    return KeyRing.parse(fs.readFileSync(file, 'utf8'), file, file);
  }

  get source(): KeySource {
    return this.file === undefined ? 'environment' : 'file';
  }

  /** The key that seals. */
  get active(): string {
    return this.sealing;
  }

  get ids(): string[] {
    return [...this.keys.keys()];
  }

  has(id: string): boolean {
    return this.keys.has(id);
  }

  /** From now on `id` seals; the others only open. */
  use(id: string): void {
    this.key(id);
    this.sealing = id;
  }

  /**
   * Makes a further key and keeps it in the ring's file before it answers; nothing is sealed with it yet. A process that is
   * killed meanwhile leaves the file as it was, or with the new key in it.
   */
  create(): string {
    if (this.file === undefined) throw new Error('A ring from the environment takes no new key');
    const id = newKeyId();
    this.keys.set(id, randomBytes(KEY_BYTES));
    this.write(this.sealing);
    return id;
  }

  /** Says in the ring's file which key seals, for the next start and for whoever copies it. Nothing to do for the environment. */
  keepChoice(): void {
    if (this.file !== undefined) this.write(this.sealing);
  }

  /** Encrypts, with the active key unless another is named. `binding` names the row; a value moved to another row does not open. */
  seal(plain: string, binding: string, keyId = this.sealing): Sealed {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key(keyId), nonce).setAAD(Buffer.from(binding));
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return { keyId, bytes: Buffer.concat([nonce, cipher.getAuthTag(), body]) };
  }

  /** @throws Error when the key is not in the ring, or the value was changed or belongs to another row. */
  open({ keyId, bytes }: Sealed, binding: string): string {
    const decipher = createDecipheriv(CIPHER, this.key(keyId), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(binding)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
  }

  /** The same text has the same signature under one key; without `keyId` the active one signs. */
  sign(text: string, keyId = this.sealing): Signature {
    return { keyId, bytes: createHmac('sha256', this.signer(keyId)).update(text).digest() };
  }

  hasSigned(text: string, { keyId, bytes }: Signature): boolean {
    if (!this.keys.has(keyId)) return false;
    const right = this.sign(text, keyId).bytes;
    return right.length === bytes.length && timingSafeEqual(right, bytes);
  }

  /** Those of `ids` that no key of this ring has. */
  missing(ids: readonly string[]): string[] {
    return ids.filter((id) => !this.keys.has(id));
  }

  private key(id: string): Buffer {
    const key = this.keys.get(id);
    if (!key) throw new Error(`The key ring has no key ${id}`);
    return key;
  }

  /** One key for each purpose: what signs does not seal. */
  private signer(id: string): Buffer {
    const known = this.signers.get(id);
    if (known) return known;
    const signer = Buffer.from(hkdfSync('sha256', this.key(id), '', 'signalbox signatures', KEY_BYTES));
    this.signers.set(id, signer);
    return signer;
  }

  private write(active: string): void {
    if (this.file !== undefined) writeWhole(this.file, { active, keys: Object.fromEntries(this.keys) });
  }
}

function newKeyId(): string {
  return `k${randomBytes(4).toString('hex')}`;
}

/** Written beside the file and put in its place: whoever reads it finds the old one or the new one, whole, whatever is killed when. */
function writeWhole(
  file: string,
  { active, keys }: { readonly active: string; readonly keys: Readonly<Record<string, Buffer>> },
): void {
  const encoded = Object.entries(keys).map(([id, key]) => [id, key.toString('base64')]);
  const beside = `${file}.${process.pid}.new`;
  const handle = fs.openSync(beside, 'w', OWNER_ONLY);
  try {
    fs.writeSync(handle, `${JSON.stringify({ active, keys: Object.fromEntries(encoded) as object })}\n`);
    fs.fchmodSync(handle, OWNER_ONLY);
    fs.fsyncSync(handle);
  } finally {
    fs.closeSync(handle);
  }
  fs.renameSync(beside, file);
  const directory = fs.openSync(path.dirname(file), 'r');
  fs.fsyncSync(directory);
  fs.closeSync(directory);
}
