import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { REDACTED } from './forms.policy.ts';
import { Matcher, replaced } from './matcher.policy.ts';
import { Splits, type Chunk } from './split.policy.ts';

const SECRET = 'sk-proj-AbCdEfGhIjKl0123';
const chunkOf = (text: string): Chunk => ({ text, ranges: [] });
const told = ({ text, ranges }: Chunk): string => replaced(text, ranges);

/** What is told of these texts in the end, with `restarts` of the process that follows them. */
function follow(values: readonly string[], texts: readonly string[], isRestarted = false): string[] {
  const matcher = Matcher.of(values);
  let splits = new Splits<Chunk>(matcher);
  const chunks = texts.map(chunkOf);
  for (const chunk of chunks) {
    splits.add('log', chunk);
    if (!isRestarted) continue;
    const waiting = [...splits.waiting()];
    splits = new Splits(matcher, JSON.parse(JSON.stringify(splits.kept(waiting))), waiting);
  }
  return chunks.map(told);
}
const cut = (text: string, at: readonly number[]): string[] => {
  const places = [...new Set(at.map((place) => place % (text.length + 1)))].sort((one, other) => one - other);
  return [0, ...places].map((start, index) => text.slice(start, places[index] ?? text.length));
};

describe('D-43: a value that is split over texts', () => {
  const writers = [
    (value: string) => value,
    (value: string) => Buffer.from(`ab${value}`).toString('base64'),
    (value: string) => encodeURIComponent(value),
    (value: string) => JSON.stringify({ value }),
  ];

  it('cannot be read from what was told one after the other, wherever it is cut, also by whoever takes over', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 8, maxLength: 60 }).filter((value) => value.trim().length >= 8),
        fc.constantFrom(...writers),
        fc.array(fc.nat(), { minLength: 1, maxLength: 6 }),
        fc.record({ isRestarted: fc.boolean(), before: fc.constantFrom('say', 'what the agent was given is') }),
        (value, write, places, { isRestarted, before }) => {
          const all = follow([value], cut(`${before} ${write(value)} now`, places), isRestarted);
          expect(all.join('')).toContain(REDACTED);
          expect(all.join('')).not.toContain(write(value));
        },
      ),
      { numRuns: 700 },
    );
  });

  it('is masked in every text that holds more than three of its first characters', () => {
    for (let place = 1; place < SECRET.length; place += 1) {
      for (const before of ['is ', 'what the agent was given is ']) {
        const texts = [`${before}${SECRET.slice(0, place)}`, `${SECRET.slice(place)}.`];
        const [first, second] = follow([SECRET], texts, true);
        expect(first).toBe(place < 4 ? texts[0] : `${before}${REDACTED}`);
        expect(second).toBe(`${REDACTED}.`);
      }
    }
  });

  it('is masked when it comes character by character', () => {
    const all = follow([SECRET], [...`key ${SECRET} end`], true).join('');
    expect(all.replaceAll(REDACTED, '')).toBe(`key ${SECRET.slice(0, 3)} end`);
  });
});

it('texts that only begin like a value are told as they were sent', () => {
  const texts = ['see sk-proj', ' for sk-proj-Ab', 'acus', ' s', 'k-proj-X'];
  expect(follow([SECRET], texts)).toEqual(texts);
  expect(follow([SECRET], texts, true)).toEqual(texts);
});

describe('U-57: a text waits', () => {
  const waits = (text: string): number => {
    const splits = new Splits<Chunk>(Matcher.of([SECRET]));
    splits.add('log', chunkOf(text));
    return splits.waiting().size;
  };

  it('only while its end may be the beginning of a value, and only where that would tell something', () => {
    expect(waits('nothing of the kind')).toBe(0);
    expect(waits('as')).toBe(0);
    expect(waits('ask-')).toBe(0);
    expect(waits('ask-p')).toBe(1);
    expect(waits(SECRET)).toBe(0);
  });

  it('until the next text of its own stream says which it is', () => {
    const splits = new Splits<Chunk>(Matcher.of([SECRET]));
    const chunk = chunkOf('a sk-proj');
    splits.add('log', chunk);
    splits.add('other log', chunkOf('-AbCdEfGhIjKl0123'));
    expect([...splits.waiting()]).toEqual([chunk]);
    expect(splits.isAlone('x', () => 'log')).toBe(false);
    splits.add('log', chunkOf(' is all'));
    expect(splits.waiting().size).toBe(0);
    expect(splits.isAlone('x', () => 'log')).toBe(true);
    expect(told(chunk)).toBe('a sk-proj');
  });

  it('not where it cannot: then its end is masked', () => {
    const splits = new Splits<Chunk>(Matcher.of([SECRET]));
    const chunk = chunkOf('a sk-proj');
    splits.add('log', chunk);
    splits.giveUp(chunk);
    expect(told(chunk)).toBe(`a ${REDACTED}`);
  });
});

it('no more streams are followed than there is room for, and nothing of those that are not is told', () => {
  const splits = new Splits<Chunk>(Matcher.of([SECRET]));
  const chunks = Array.from({ length: 100 }, () => chunkOf('a sk-proj'));
  for (const [index, chunk] of chunks.entries()) splits.add(`log ${index}`, chunk);
  expect(splits.waiting().size).toBe(64);
  expect(new Set(chunks.slice(0, 36).map(told))).toEqual(new Set([`a ${REDACTED}`]));
});
