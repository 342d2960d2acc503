import { createHash, randomFillSync, randomInt } from 'node:crypto';

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
  session: 'ses',
  domain: 'dom',
  role: 'role',
  policy: 'pol',
  statement: 'stm',
  grant: 'grant',
  decision: 'dec',
  export: 'exp',
} as const;

export type IdKind = keyof typeof ID_PREFIXES;

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'; // Crockford's base 32, so that ids can be read aloud
const TIME_LENGTH = 10;
const COUNTER_LENGTH = 5;
const RANDOM_LENGTH = 11;
const RANDOM_BYTES = RANDOM_LENGTH; // a byte a character: 256 is a multiple of 32, so none is likelier
const pool = Buffer.alloc(RANDOM_BYTES * 256);
let used = pool.length;
/** Begins anywhere, so that it does not tell how many there were. */
let counter = randomInt(32 ** COUNTER_LENGTH);

/**
 * A new id: prefix, underscore, 26 characters. The first ten are the millisecond and five a counter of this process, so ids
 * sort by creation, and those of one millisecond as they were made here; the other eleven are 55 random bits.
 * @param nowMs milliseconds since 1970 from the clock.
 */
export function newId(kind: IdKind, nowMs: number): string {
  counter = (counter + 1) % 32 ** COUNTER_LENGTH;
  return `${ID_PREFIXES[kind]}_${inBase32(nowMs, TIME_LENGTH)}${inBase32(counter, COUNTER_LENGTH)}${randomPart()}`;
}

/** The id of an object that is known by what it is made of: the same content is the same object, whoever keeps it and how often. */
export function derivedId(kind: IdKind, content: string | Uint8Array): string {
  return `${ID_PREFIXES[kind]}_${createHash('sha256').update(content).digest('hex').slice(0, 26)}`;
}

function inBase32(value: number, length: number): string {
  let rest = value;
  let text = '';
  for (let index = 0; index < length; index += 1) {
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
  for (const end = used + RANDOM_BYTES; used < end; used += 1) text += ALPHABET.charAt((pool[used] ?? 0) % 32);
  return text;
}
