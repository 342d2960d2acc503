import { expect, it } from '@jest/globals';
import { Recent } from './recent.ts';

it('forgets what was used longest ago', () => {
  const recent = new Recent<number>(2);
  recent.set('a', 1);
  recent.set('b', 2);
  recent.get('a');
  recent.set('c', 3);
  expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([1, undefined, 3]);
});

it('counts weights, and an entry that is replaced only once', () => {
  const recent = new Recent<string>(10);
  for (let turn = 0; turn < 5; turn += 1) recent.set('a', 'a', 4);
  recent.set('b', 'b', 6);
  expect([recent.get('a'), recent.get('b')]).toEqual(['a', 'b']);
  recent.set('c', 'c', 11);
  expect([recent.get('a'), recent.get('b'), recent.get('c')]).toEqual([undefined, undefined, 'c']);
});
