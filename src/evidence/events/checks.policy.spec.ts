import { describe, expect, it } from '@jest/globals';
import { refusalOf } from './checks.policy.ts';

const texts = [
  'content',
  'event_id',
  'hook_event_type',
  'kind',
  'name',
  'parent_span_id',
  'span_id',
  'status',
  'timestamp',
  'trace_id',
];
const defaulted = ['level', 'logger', 'message_type', 'role'];

describe('an event is stored', () => {
  it.each([
    [{ event_type: 'log.created' }],
    [{ event_type: 'a.type.of.tomorrow', anything: [{ else: 1 }] }],
    [{ event_type: 'span.started', kind: 'a kind of tomorrow', hook_event_type: 'a.hook' }],
    [{ event_type: 'log.created', level: 'info', logger: '', role: 'x', message_type: 'y' }],
    [{ event_type: 'token.created', usage: { input_tokens: 'not a number' }, payload: {} }],
    [{ event_type: 'token.created', usage: null }],
    [{ event_type: 'log.created', event_sequence: 0 }],
    [{ event_type: 'log.created', event_sequence: null, metadata: 'free' }],
    [Object.fromEntries([['event_type', 'log.created'], ...texts.map((name) => [name, null])])],
    [Object.fromEntries([['event_type', 'log.created'], ...texts.map((name) => [name, ''])])],
    [JSON.parse('{"event_type":"log.created","__proto__":{"content":7},"constructor":1}')],
  ])('%j', (event) => {
    expect(refusalOf(event)).toBeUndefined();
  });

  it('although its number was too large and is text now', () => {
    const event = { event_type: 'log.created', event_sequence: '1'.repeat(30) };
    expect(refusalOf(event, ['event_sequence'])).toBeUndefined();
    expect(refusalOf(event, ['content'])).toBe('event.wrong_kind');
  });
});

describe('an event is left out', () => {
  it.each([[null], [undefined], [7], ['text'], [true], [[]], [[{ event_type: 'log.created' }]]])(
    'that is no object: %j',
    (event) => {
      expect(refusalOf(event)).toBe('event.not_object');
    },
  );

  it.each([[{}], [{ event_type: null }], [{ event_type: '' }], [{ type: 'log.created' }]])(
    'that has no type: %j',
    (event) => {
      expect(refusalOf(event)).toBe('event.no_type');
    },
  );

  it.each<object[]>([
    [{ event_type: 7 }],
    [{ event_type: ['log.created'] }],
    [{ event_type: 'log.created', payload: null }],
    [{ event_type: 'log.created', payload: [] }],
    [{ event_type: 'log.created', payload: 'text' }],
    [{ event_type: 'log.created', usage: [] }],
    [{ event_type: 'log.created', usage: 12 }],
    [{ event_type: 'log.created', event_sequence: 1.5 }],
    [{ event_type: 'log.created', event_sequence: '1' }],
    [{ event_type: 'log.created', event_sequence: true }],
    ...texts.map((name) => [{ event_type: 'log.created', [name]: 7 }]),
    ...texts.map((name) => [{ event_type: 'log.created', [name]: {} }]),
    ...defaulted.map((name) => [{ event_type: 'log.created', [name]: null }]),
    ...defaulted.map((name) => [{ event_type: 'log.created', [name]: 7 }]),
  ])('in which a value is of the wrong kind: %j', (event) => {
    expect(refusalOf(event)).toBe('event.wrong_kind');
  });
});
