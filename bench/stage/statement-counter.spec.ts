import { expect, it } from '@jest/globals';
import { FrontendReader } from './statement-counter.ts';

/** A message as a client of PostgreSQL sends it; the start has no type. */
function message(type: string, body: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeInt32BE(4 + Buffer.byteLength(body));
  return Buffer.concat([Buffer.from(type), length, Buffer.from(body)]);
}

const TALK = Buffer.concat([
  message('', '\0\x03\0\0user\0bench\0\0'),
  message('p', 'a password'),
  message('Q', 'BEGIN\0'),
  message('P', 'a\0SELECT $1\0\0\0'),
  message('B', '\0a\0\0\0\0\0\0\0'),
  message('E', '\0\0\0\0\0'),
  message('S', ''),
  message('Q', 'COMMIT\0'),
  message('X', ''),
]);

it.each([1, 3, 7, TALK.length])(
  'counts each query and each execution once, however the bytes come (%d at a time)',
  (size) => {
    let statements = 0;
    const reader = new FrontendReader(() => (statements += 1));
    for (let at = 0; at < TALK.length; at += size) reader.read(TALK.subarray(at, at + size));
    expect(statements).toBe(3);
  },
);
