import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ListWriter } from './long-list.ts';

const Item = z.object({ name: z.string() });

function written(items: readonly unknown[]): {
  readonly text: string;
  readonly bytes: number;
  readonly pieces: number;
} {
  const writer = new ListWriter(Item);
  for (const item of items) writer.add(item);
  const { pieces, bytes } = writer.end();
  return { text: Buffer.concat([...pieces]).toString(), bytes, pieces: pieces.length };
}

describe('a list that is written item by item', () => {
  it.each([0, 1, 2, 5_000])('of %i is the JSON that it would be as a whole, and knows its length', (count) => {
    const items = Array.from({ length: count }, (_, at) => ({ name: `agent “${at}” 🙂` }));
    const { text, bytes } = written(items);
    expect(JSON.parse(text)).toEqual(items);
    expect(Buffer.byteLength(text)).toBe(bytes);
  });

  it('is in pieces, so that nobody holds it as one text', () => {
    expect(written(Array.from({ length: 5_000 }, () => ({ name: 'x'.repeat(100) }))).pieces).toBeGreaterThan(5);
  });

  it('lets out what the schema names, and refuses what it does not know', () => {
    expect(written([{ name: 'a', secret: 'b' }]).text).toBe('[{"name":"a"}]');
    expect(() => written([{ name: 1 }])).toThrow();
  });
});
