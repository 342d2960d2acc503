import { createHash, randomFillSync } from 'node:crypto';

/** The kinds of object that have an id of ours, with the prefix that shows the kind. A secret never has its handle's prefix. */
export const ID_PREFIXES = {
  account: 'acct',
  user: 'usr',
  principal: 'prn',
  apiKey: 'key',
  workerToken: 'wtk',
  audit: 'aud',
  agent: 'agent',
  run: 'run',
  replay: 'run_replay',
  artifact: 'art',
  event: 'evt',
  message: 'msg',
  late: 'late',
  replica: 'rep',
  workerAction: 'act',
  approval: 'apr',
  credential: 'cred',
  keyRotation: 'rot',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford's base 32, so that ids can be read aloud
const RANDOM_BYTES = 10;
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let used = pool.length;

/**
 * A new id: prefix, underscore, 26 characters. The first ten are the millisecond, so ids sort by creation; the other
 * sixteen are 80 random bits.
 * @param nowMs milliseconds since 1970 from the clock.
 */
export function newId(kind: IdKind, nowMs: number): string {
  return `${ID_PREFIXES[kind]}_${timePart(nowMs)}${randomPart()}`;
}

/** The id of an object that is known by what it is made of: the same content is the same object, whoever keeps it and how often. */
export function derivedId(kind: IdKind, content: string | Uint8Array): string {
  return `${ID_PREFIXES[kind]}_${createHash('sha256').update(content).digest('hex').slice(0, 26)}`;
}

function timePart(nowMs: number): string {
  let rest = nowMs;
  let text = '';
  for (let index = 0; index < 10; index += 1) {
    text = ALPHABET.charAt(rest % 32) + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

function randomPart(): string {
  if (used + RANDOM_BYTES > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  let text = '';
  for (let half = 0; half < 2; half += 1) {
    let value = pool.readUIntBE(used, 5); // 40 bits make eight characters
    used += 5;
    let part = '';
    for (let index = 0; index < 8; index += 1) {
      part = ALPHABET.charAt(value % 32) + part;
      value = Math.floor(value / 32);
    }
    text += part;
  }
  return text;
}
