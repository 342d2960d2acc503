import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeepJson } from './deep-json.ts';
import { depthOf, replaceTooDeep } from './depth.ts';
import { formatPath } from './path.ts';
import { scanJson } from './scan.ts';

const RULE = { maxDepth: 64, fieldLevels: 2 };

it('says the same depth as the scan of the text', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(depthOf(value)).toBe(scanJson(Buffer.from(JSON.stringify(value))).depth);
    }),
  );
});

it('counts 20,000 levels, and those that were not built', () => {
  expect(depthOf(nested(20_000))).toBe(20_000);
  expect(depthOf([[new DeepJson('[[[]]]', 3)], [[[]]]])).toBe(5);
});

it('leaves an event alone whose values are not too deep', () => {
  const event = { payload: { a: nested(63) }, metadata: nested(64) };
  expect(replace(event)).toEqual([]);
  expect(event).toEqual({ payload: { a: nested(63) }, metadata: nested(64) });
});

it('replaces the field that is too deep and nothing beside it', () => {
  const event = { payload: { args: nested(80), result: nested(3), name: 'x' }, metadata: nested(65), usage: {} };
  expect(replace(event)).toEqual(['payload.args', 'metadata']);
  expect(event).toEqual({ payload: { args: 80, result: nested(3), name: 'x' }, metadata: 65, usage: {} });
});

it('leaves no field too deep, whatever its shape', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 7 })),
      fc.integer({ min: 1, max: 4 }),
      (event, maxDepth) => {
        const wasTooDeep = Object.values(event).some((value) => depthOf(value) > maxDepth);
        const replaced = replaceTooDeep(event, { maxDepth, fieldLevels: 2 }, () => 'replaced');
        expect(Object.values(event).every((value) => depthOf(value) <= maxDepth)).toBe(true);
        expect(replaced > 0).toBe(wasTooDeep);
      },
    ),
  );
});

it('replaces 20,000 levels below __proto__ without touching a prototype', () => {
  const event = JSON.parse('{"__proto__":{"a":1}}') as Record<string, unknown>;
  Object.defineProperty(event, '__proto__', { value: nested(20_000), enumerable: true, writable: true });
  expect(replace(event)).toEqual(['__proto__']);
  expect(Object.entries(event)).toEqual([['__proto__', 20_000]]);
  expect(Object.getPrototypeOf(event)).toBe(Object.prototype);
});

/** Puts a value's depth in its place. Answers the places. */
function replace(event: Record<string, unknown>): string[] {
  const places: string[] = [];
  replaceTooDeep(event, RULE, (subtree, path) => {
    places.push(formatPath(path));
    return depthOf(subtree);
  });
  return places;
}

function nested(levels: number): unknown {
  return JSON.parse('['.repeat(levels) + ']'.repeat(levels)) as unknown;
}
