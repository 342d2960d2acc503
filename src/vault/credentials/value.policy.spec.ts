import { describe, expect, it } from '@jest/globals';
import { environmentName, isReserved, partNames, readValue, valueProblem } from './value.policy.ts';

describe('A12: a value', () => {
  it.each([
    ['sk-plain'],
    ['{"a": 1}'],
    ['{"a": "x", "b": null}'],
    ['{"a": {"b": "x"}}'],
    ['{}'],
    ['["a"]'],
    ['"a"'],
    ['{"a": "x"'],
    ['{not json}'],
    [''],
  ])('is one text where it is not an object of texts: %j', (text) => {
    expect(readValue(text)).toBe(text);
    expect(partNames(readValue(text))).toEqual([]);
  });

  it('has parts where it is an object of texts, in the order of the text', () => {
    expect(readValue(' {"user": "u", "pass": "p"}\n')).toEqual({ user: 'u', pass: 'p' });
    expect(partNames(readValue('{"user":"u","pass":"p"}'))).toEqual(['user', 'pass']);
    expect(partNames(readValue('{"__proto__":"p"}'))).toEqual(['__proto__']);
  });
});

describe('A11: a value that no worker could take', () => {
  it.each([
    ['NUL', 'a\0b', /NUL/],
    ['half of a pair', 'a\ud800', /surrogate/],
    ['half of a pair in a part', '{"a":"\\ud800"}', /surrogate/],
    ['half of a pair in a name', '{"\\udfff":"a"}', /surrogate/],
    ['NUL in a part', '{"a":"\\u0000"}', /NUL/],
    ['an empty name', '{"":"a"}', /empty/],
    ['a name that is none', '{"a=b":"a"}', /equals/],
    ['more than an environment holds', 'x'.repeat(131_073), /131072/],
    [
      'too many parts',
      JSON.stringify(Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`k${at}`, 'v']))),
      /500/,
    ],
  ])('is named, and nothing of it is told: %s', (_what, text, reason) => {
    const problem = valueProblem(text);
    expect(problem).toMatch(reason);
    expect(problem?.length).toBeLessThan(200);
  });

  it.each(['x'.repeat(131_072), 'line\nline', '\u{1f600}', '{"a":"b"}', '{"a=b":1}'])('is not this one', (text) => {
    expect(valueProblem(text)).toBeUndefined();
  });
});

it('a name is written into the environment as the SDK writes it, and the run token’s is taken', () => {
  expect(environmentName('db-creds_x')).toBe('DB_CREDS_X');
  expect([isReserved('AGENTOPS_MCP_TOKEN'), isReserved('agentops-mcp-token'), isReserved('agentops-token')]).toEqual([
    true,
    true,
    false,
  ]);
});
