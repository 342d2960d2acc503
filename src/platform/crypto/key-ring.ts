import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { z } from 'zod';
import { StartRefused } from '../config/config.ts';

/** The token under which the process's key ring is injected. */
export const KEY_RING = Symbol('KEY_RING');

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const StoredKeys = z.object({
  active: z.string(),
  keys: z.record(
    z.string(),
    z
      .base64()
      .transform((text) => Buffer.from(text, 'base64'))
      .refine((key) => key.length === 32, 'a key has 32 bytes'),
  ),
});

/** A value that only a key of the ring opens, bound to the row it was sealed for. */
export interface Sealed {
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** The keys that seal what must be readable again. They live outside the database, so that a copy of it opens nothing. */
export class KeyRing {
  private readonly active: string;
  private readonly keys: ReadonlyMap<string, Buffer>;

  private constructor({ active, keys }: z.output<typeof StoredKeys>, source: string) {
    if (!Object.hasOwn(keys, active))
      throw new StartRefused(`${source}: the active key ${active} is not among its keys`);
    this.active = active;
    this.keys = new Map(Object.entries(keys));
  }

  /** @throws StartRefused when `text` is no key ring; `source` names the setting or the file. */
  static parse(text: string, source: string): KeyRing {
    try {
      return new KeyRing(StoredKeys.parse(JSON.parse(text)), source);
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
          `${file} is missing, and the database holds values that its keys opened: restore it, or set SIGNALBOX_KEYS`,
        );
      const id = `k${randomBytes(4).toString('hex')}`;
      const text = JSON.stringify({ active: id, keys: { [id]: randomBytes(32).toString('base64') } });
      fs.writeFileSync(file, `${text}\n`, { mode: 0o600, flag: 'wx' });
    }
    return KeyRing.parse(fs.readFileSync(file, 'utf8'), file);
  }

  /** Encrypts with the active key. `binding` names the row; a value moved to another row does not open. */
  seal(plain: string, binding: string): Sealed {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key(this.active), nonce).setAAD(Buffer.from(binding));
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return { keyId: this.active, bytes: Buffer.concat([nonce, cipher.getAuthTag(), body]) };
  }

  /** @throws Error when the key is not in the ring, or the value was changed or belongs to another row. */
  open({ keyId, bytes }: Sealed, binding: string): string {
    const decipher = createDecipheriv(CIPHER, this.key(keyId), bytes.subarray(0, NONCE_BYTES));
    decipher.setAAD(Buffer.from(binding)).setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString('utf8');
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
}
