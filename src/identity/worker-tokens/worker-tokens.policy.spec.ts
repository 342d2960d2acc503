import { describe, expect, it } from '@jest/globals';
import { hintOf, isHandle } from './worker-tokens.policy.ts';

describe('the handle of an agent', () => {
  it.each(['a', 'demo-python', 'Über Agent', 'a.b', '...', 'x'.repeat(200), '你好', 'agent_01'])(
    'may be %j',
    (text) => {
      expect(isHandle(text)).toBe(true);
    },
  );

  it.each(['', 'a/b', '/', '.', '..', 'a\nb', 'a\0b', 'a\u0085b', 'x'.repeat(201)])('may not be %j', (text) => {
    expect(isHandle(text)).toBe(false);
  });
});

it('a hint shows the kind of a token and its last four characters', () => {
  expect(hintOf('swt_abcdefghijklmnop_QRST')).toBe('swt_…QRST');
});
