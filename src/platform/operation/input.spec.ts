import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { parseParts } from './input.ts';

const parts = {
  path: z.strictObject({ worker_id: z.string() }),
  query: z.object({ tag: z.array(z.string()).optional(), deep: z.coerce.number() }),
  headers: z.object({ 'x-trace': z.string().optional() }),
  body: z.object({ worker_id: z.string(), size: z.number() }).nullish(),
};
const raw = { path: { worker_id: 'w1' }, query: { tag: 'a', deep: '2' }, headers: { 'x-trace': 't' } };

describe('an input', () => {
  it('is one flat object of all four parts, and the path wins', () => {
    const parsed = parseParts(parts, { ...raw, body: { worker_id: 'other', size: 3, unknown: 1 } });
    expect(parsed).toEqual({ input: { worker_id: 'w1', tag: ['a'], deep: 2, 'x-trace': 't', size: 3 } });
  });

  it.each([null, undefined])('may lack its body (%j)', (body) => {
    expect(parseParts(parts, { ...raw, body })).toEqual({
      input: { worker_id: 'w1', tag: ['a'], deep: 2, 'x-trace': 't' },
    });
  });

  it('says in which part each problem is, in reading order', () => {
    const parsed = parseParts(parts, { ...raw, query: { deep: 'no' }, body: { worker_id: 1, size: 'x' } });
    const places = 'problems' in parsed ? parsed.problems.map(({ loc }) => loc) : [];
    expect(places).toEqual([
      ['query', 'deep'],
      ['body', 'worker_id'],
      ['body', 'size'],
    ]);
  });

  it('may be a list, and a problem in it names the index', () => {
    const list = { body: z.array(z.number()) };
    expect(parseParts(list, { body: [3, 7] })).toEqual({ input: { body: [3, 7] } });
    expect(parseParts(list, { body: [3, 'x'] })).toMatchObject({ problems: [{ loc: ['body', 1] }] });
    expect(parseParts(list, {})).toMatchObject({ problems: [{ loc: ['body'] }] });
  });
});
