import { describe, expect, it } from '@jest/globals';
import { signatureOf, topicOf, wishesOf } from './topics.policy.ts';

describe('the topics that a reader asks for', () => {
  it.each([
    ['agents', ['agents']],
    [' agents , runs,agents,, ', ['agents', 'runs']],
    ['run:run_1,run:a:b,nonsense', ['run:run_1', 'run:a:b', 'nonsense']],
    ['', []],
    [',,', []],
  ])('of %j are %j, each once', (text, names) => {
    expect(wishesOf(text).map(topicOf)).toEqual(names);
  });

  it('are lists or runs', () => {
    expect(wishesOf('runs,run:run_1')).toEqual([
      { kind: 'list', name: 'runs' },
      { kind: 'run', runId: 'run_1' },
    ]);
  });
});

describe('two states of an object', () => {
  const worker = { id: 'w', presence: { last_seen_at: 1 }, lights: { claim: { state: 'ok', last_at: 5 } } };

  it('are the same where only what is restless differs, at any depth', () => {
    const later = { ...worker, presence: { last_seen_at: 2 }, lights: { claim: { state: 'ok', last_at: 9 } } };
    expect(signatureOf(later, ['presence', 'last_at'])).toBe(signatureOf(worker, ['presence', 'last_at']));
  });

  it('are not where anything else does', () => {
    const silent = { ...worker, lights: { claim: { state: 'down', last_at: 5 } } };
    expect(signatureOf(silent, ['presence', 'last_at'])).not.toBe(signatureOf(worker, ['presence', 'last_at']));
  });
});
