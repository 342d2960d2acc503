import { describe, expect, it } from '@jest/globals';
import { callOf, inputText, isWhole, keptApart } from './calls.policy.ts';
import type { CallRow } from './replay.store.ts';

const row = (start: object | null, end: object | null, more: Partial<CallRow> = {}): CallRow => ({
  ...{ span_id: 's', name: 'lookup', status: 'ok', first_seq: 1, bytes: 0, is_masked: false },
  start: start && { payload: start },
  start_truncated: null,
  end: end && { payload: end },
  end_truncated: null,
  ...more,
});
const mark = (path: string, artifact_id: string) => [{ path, artifact_id, bytes: 9 }];

describe('a recorded call', () => {
  it.each<[object | null, object | null, unknown, unknown]>([
    [{ args: { q: 1 } }, { hits: [1, 2] }, { q: 1 }, { hits: [1, 2] }],
    [{ args: { q: 1 } }, { value: 'forty-two' }, { q: 1 }, 'forty-two'],
    [{ args: { q: 1 } }, { value: [1] }, { q: 1 }, [1]],
    [{ args: {} }, { value: { of: 'an object' } }, {}, { value: { of: 'an object' } }],
    [{ args: {} }, { value: 1, more: 2 }, {}, { value: 1, more: 2 }],
    [{ tool_input: { q: 1 } }, { tool_response: 'text' }, { q: 1 }, 'text'],
    [{ args: {} }, { error: 'it broke' }, {}, { error: 'it broke' }],
    [null, { result: 7 }, null, 7],
  ])('that began with %j and ended with %j', (start, end, input, response) => {
    expect(callOf(row(start, end))).toEqual({ input, response, isError: false });
  });

  it('has what stood apart from its events in its place again', () => {
    const moved = row(
      { args: 'the beginn' },
      { text: 'the beginn', n: 1 },
      {
        start_truncated: mark('payload.args', 'a1'),
        end_truncated: mark('payload.text', 'a2'),
      },
    );
    const kept = new Map([
      ['a1', { text: '{"q":"the beginning and the end"}', isJson: true }],
      ['a2', { text: 'the beginning and the end', isJson: false }],
    ]);
    expect(keptApart(moved)).toEqual(['a1', 'a2']);
    expect(isWhole(moved, kept)).toBe(true);
    expect(callOf(moved, kept)).toMatchObject({
      input: { q: 'the beginning and the end' },
      response: { text: 'the beginning and the end', n: 1 },
    });
    expect(isWhole(moved, new Map([...kept].slice(0, 1)))).toBe(false);
    const holder = row({}, { preview: '{"a"' }, { end_truncated: mark('payload', 'a3') });
    expect(callOf(holder, new Map([['a3', { text: '{"a":1}', isJson: true }]])).response).toEqual({ a: 1 });
  });
});

it('an input is the same however its members are ordered, and none is an empty one', () => {
  expect(inputText({ a: 1, b: { d: 1, c: 2 } })).toBe(inputText({ b: { c: 2, d: 1 }, a: 1 }));
  expect(inputText(null)).toBe(inputText({}));
  expect(inputText({ a: '1' })).not.toBe(inputText({ a: 1 }));
});
