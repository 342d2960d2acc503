import { expect, it } from '@jest/globals';
import { formatPath, isUnder } from './path.ts';

it('writes a path so that keys and positions cannot be mistaken for each other', () => {
  expect(formatPath(['payload', 'events', 3, 'payload', 'text'])).toBe('payload.events[3].payload.text');
  expect(formatPath([0, 'a.b', '3', '', 'x-y', '__proto__'])).toBe('[0]["a.b"]["3"][""].x-y.__proto__');
  expect(formatPath([])).toBe('');
});

it('tells what lies under what', () => {
  expect(isUnder(['a', 1, 'b'], ['a', 1])).toBe(true);
  expect(isUnder(['a', '1'], ['a', 1])).toBe(false);
  expect(isUnder(['a'], ['a', 1])).toBe(false);
});
