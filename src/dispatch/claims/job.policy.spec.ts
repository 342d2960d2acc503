import { describe, expect, it } from '@jest/globals';
import { unreadableJob, unreadableSecrets } from './job.policy.ts';

function nested(levels: number): unknown {
  let value: unknown = 'bottom';
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
}

it.each([[{ key: 'x\ud800' }], [{ key: { 'a\udfff': 'x' } }], [{ key: { a: '\ud800' } }], [{ key: 'a\0b' }]])(
  'A11: no worker can read a job with the secrets %j, and the reason does not tell them',
  (secrets) => {
    expect(unreadableSecrets(secrets)).toBe('a secret holds what no environment takes');
  },
);

describe('worker-protocol §23.24: what no worker can read', () => {
  it.each([
    ['text', 'hello', /not an object/],
    ['nothing', null, /not an object/],
    ['a list', [{}], /not an object/],
    ['151 levels', { in: nested(150) }, /deeper than 150/],
    ['half of a surrogate pair', { a: [{ b: 'x\ud800' }] }, /surrogate/],
    ['half of a surrogate pair in a key', { a: { '\udfff': 1 } }, /surrogate/],
  ])('is %s', (_what, input, reason) => {
    expect(unreadableJob({ input, prior_snapshot: null }, 150)).toMatch(reason);
    if (input !== null) expect(unreadableJob({ input: {}, prior_snapshot: input }, 150)).toMatch(reason);
  });

  it.each([
    ['nothing in it', {}],
    ['150 levels', { in: nested(149) }],
    ['whole surrogate pairs', { '\u{1f600}': '\ud83d\ude00' }],
    ['text that looks like half of one', { a: '\\ud800' }],
    ['the largest numbers', { a: Number.MAX_VALUE, b: -Number.MAX_SAFE_INTEGER }],
    ['names that are special elsewhere', JSON.parse('{"__proto__":{"a":1},"constructor":1}')],
    ['what cuts lines', { a: '\u2028\u2029\u0085' }],
  ])('is not an object with %s', (_what, input) => {
    expect(unreadableJob({ input, prior_snapshot: input }, 150)).toBeUndefined();
  });
});
