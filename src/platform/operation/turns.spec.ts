import { expect, it } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Turns } from './turns.ts';

it('the same name waits, another does not, and a failure ends nobody else’s turn', async () => {
  const turns = new Turns();
  const seen: string[] = [];
  const work = (name: string, what: string) =>
    turns.take(name, async () => {
      seen.push(`${what} begins`);
      await nextTurn();
      seen.push(`${what} ends`);
      if (what === 'a1') throw new Error('on purpose');
      return what;
    });
  const all = await Promise.allSettled([work('a', 'a1'), work('a', 'a2'), work('b', 'b1')]);
  expect(all.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
  expect(seen.indexOf('a2 begins')).toBeGreaterThan(seen.indexOf('a1 ends'));
  expect(seen.indexOf('b1 begins')).toBeLessThan(seen.indexOf('a1 ends'));
  expect(await work('a', 'a3')).toBe('a3');
});
