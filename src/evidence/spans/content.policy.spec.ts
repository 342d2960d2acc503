import { describe, expect, it } from '@jest/globals';
import { contentOf } from './content.policy.ts';

describe('what a span worked on and what came of it', () => {
  it.each([
    // [kind, payload of the start, payload of the end, input, output, attributes]
    ['tool', { args: { q: 'x' } }, { echo: { q: 'x' } }, { q: 'x' }, { echo: { q: 'x' } }, {}],
    ['tool', { args: { q: 'x' } }, { result: [1, 2] }, { q: 'x' }, [1, 2], {}],
    [
      'tool',
      { tool_input: { a: 1 }, hook_event: 'PreToolUse', source: 'claude' },
      { tool_response: 'done', skill_name: 's' },
      { a: 1 },
      'done',
      { hook_event: 'PreToolUse', source: 'claude', skill_name: 's' },
    ],
    ['tool', { args: {} }, { error: 'the tool broke' }, {}, { error: 'the tool broke' }, {}],
    [
      'tool',
      { args: { q: 1 } },
      { stdout: 'recorded', replay: { source: 'recording' } },
      { q: 1 },
      { stdout: 'recorded' },
      {},
    ],
    ['tool', { args: { q: 1 } }, { skill_name: 's' }, { q: 1 }, null, { skill_name: 's' }],
    ['tool', { args: { q: 1 } }, undefined, { q: 1 }, null, {}],
    ['tool', undefined, { output: 0 }, null, 0, {}],
    ['tool', undefined, { tool_input: { late: true }, result: null }, { late: true }, null, {}],
    [
      'llm',
      { model: 'm' },
      { call_usage: { total_tokens: 1 }, stop_reason: 'end' },
      null,
      null,
      { model: 'm', stop_reason: 'end' },
    ],
    ['agent', { input: 'hello' }, { output: 'bye', usage: { total_tokens: 1 } }, 'hello', 'bye', {}],
    ['chain', null, [], null, null, {}],
  ])('of a %s that began with %j and ended with %j', (...[kind, start, end, input, output, attributes]) => {
    expect(contentOf(kind, start, end)).toMatchObject({ input, output, attributes });
  });

  it('tells what was answered from a recording', () => {
    expect(contentOf('tool', {}, { replay: { source: 'recording', match: 'exact' } }).replay).toEqual({
      source: 'recording',
      match: 'exact',
    });
    expect(contentOf('tool', {}, { replay: 'yes' }).replay).toBeNull();
  });

  it('F-44: names that are special elsewhere are ordinary names', () => {
    const { attributes } = contentOf(
      'chain',
      JSON.parse('{"__proto__":{"z":1}}'),
      JSON.parse('{"constructor":{"prototype":{"z":1}},"x.999999999.y":2}'),
    );
    expect(JSON.stringify(attributes)).toBe(
      '{"__proto__":{"z":1},"constructor":{"prototype":{"z":1}},"x.999999999.y":2}',
    );
    expect({}).not.toHaveProperty('z');
  });
});
