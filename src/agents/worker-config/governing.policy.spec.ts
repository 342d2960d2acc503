import { describe, expect, it } from '@jest/globals';
import { covers, governing, type Governing } from './governing.policy.ts';
import type { Rules } from './worker-config.contract.ts';

const rule = (id: string, outcome: 'ask' | 'deny' | 'allow', pattern: string, window_seconds?: number) => ({
  ...{ id, name: `the rule ${id}`, outcome, criteria: [{ tool_patterns: [pattern] }] },
  ...(window_seconds === undefined ? {} : { window_seconds }),
});
const RULES: Rules = {
  ...{ default_outcome: 'allow', default_rule_id: '', default_rule_name: 'the default' },
  rules: [
    rule('shell', 'ask', 'Bash', 600),
    rule('web', 'ask', 'Web*'),
    rule('no', 'deny', 'Drop'),
    rule('yes', 'allow', 'Read'),
  ],
  window_seconds: 900,
};
const STRICT: Rules = { ...RULES, default_outcome: 'ask', default_rule_id: 'base' };
const ask = (windowSeconds: number | null): Governing => ({ outcome: 'ask', windowSeconds });

describe('what the rules in force say to a question', () => {
  it.each<[string, Rules | null, string, string, boolean, Governing]>([
    ['its rule’s window', RULES, 'shell', 'Bash', true, ask(600)],
    ['the agent’s window', RULES, 'web', 'WebFetch', true, ask(900)],
    ['a rule that refuses by now', RULES, 'no', 'Drop', true, { outcome: 'deny', ruleName: 'the rule no' }],
    ['a rule that allows by now', RULES, 'yes', 'Read', true, { outcome: 'nothing' }],
    ['a rule that is gone', RULES, 'gone', 'Read', true, { outcome: 'nothing' }],
    ['a rule that is gone, another covers the tool', RULES, 'gone', 'WebSearch', true, ask(900)],
    ['a rule that is gone, the default asks', STRICT, 'gone', 'Read', true, ask(900)],
    ['a rule that allows by now, whatever the default', STRICT, 'yes', 'Read', true, { outcome: 'nothing' }],
    ['the default by its id', STRICT, 'base', 'Anything', true, ask(900)],
    ['the default that was', RULES, 'agent-default', 'Anything', true, { outcome: 'nothing' }],
    ['all rules are gone', null, 'shell', 'Bash', true, { outcome: 'nothing' }],
    ['a rule of the worker’s own', RULES, 'mine', 'Anything', false, ask(900)],
    ['no rules were ever set', null, 'mine', 'Bash', false, ask(null)],
    [
      'a default that refuses',
      { ...STRICT, default_outcome: 'deny' },
      'base',
      'Read',
      true,
      { outcome: 'deny', ruleName: 'the default' },
    ],
  ])('%s', (...[, rules, ruleId, toolName, wasOurs, expected]) => {
    expect(governing(rules, { ruleId, toolName, wasOurs })).toEqual(expected);
  });
});

describe('a pattern', () => {
  it.each([
    ['Bash', 'Bash', true],
    ['Bash', 'bash', false],
    ['mcp__*__open_?r', 'mcp__github__open_pr', true],
    ['*', '', true],
    ['?', '', false],
    ['a*b*c', 'aXbYc', true],
    ['a*b*c', 'aXbY', false],
    ['[ab]x', 'bx', true],
    ['a.c', 'abc', false],
  ])('%s covers %s: %s', (pattern, name, expected) => {
    expect(covers(pattern, name)).toBe(expected);
  });

  it('takes no longer for being clever', () => {
    expect(covers('*a'.repeat(100), 'b'.repeat(500))).toBe(false);
  });
});
