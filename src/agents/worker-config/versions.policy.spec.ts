import { describe, expect, it } from '@jest/globals';
import { NO_VERSIONS, opsForWorkers, versionsOf } from './versions.policy.ts';
import type { ConfigOps, Rules } from './worker-config.contract.ts';

const PROMPT: ConfigOps = [{ type: 'prompt_append', text: 'Be brief.' }];
const SKILL: ConfigOps = [{ type: 'skill_set', skill_id: 'greet', text: 'hello' }];
const RULES: Rules = {
  rules: [{ id: 'r', name: 'R', outcome: 'ask', criteria: [{ tool_patterns: ['Bash'] }] }],
  ...{ default_outcome: 'allow', default_rule_id: '', default_rule_name: '' },
};

describe('the versions', () => {
  it('are empty where the part is', () => {
    expect(versionsOf({ ops: [], rules: null })).toEqual(NO_VERSIONS);
    expect(versionsOf({ ops: [], rules: { ...RULES, rules: [] } })).toEqual(NO_VERSIONS);
  });

  it('change for themselves', () => {
    const prompt = versionsOf({ ops: PROMPT, rules: null });
    const all = versionsOf({ ops: [...PROMPT, ...SKILL], rules: RULES });
    expect(prompt).toEqual({ ...NO_VERSIONS, version: expect.stringMatching(/^[0-9a-f]{32}$/) });
    expect(all.version).toBe(prompt.version);
    expect(all).toEqual({
      ...versionsOf({ ops: SKILL, rules: RULES }),
      version: prompt.version,
    });
    expect(versionsOf({ ops: PROMPT, rules: { ...RULES, window_seconds: 600 } }).action_rules_version).not.toBe(
      all.action_rules_version,
    );
  });

  it('do not hang on the order of members, nor on what a caller says that they are', () => {
    const said = { ...RULES, version: 'mine' };
    expect(versionsOf({ ops: [], rules: said })).toEqual(versionsOf({ ops: [], rules: RULES }));
    const turned = [{ text: 'Be brief.', type: 'prompt_append' }] as unknown as ConfigOps;
    expect(versionsOf({ ops: turned, rules: null })).toEqual(versionsOf({ ops: PROMPT, rules: null }));
  });
});

it('a skill without a name goes by its id, or the worker would drop it', () => {
  expect(opsForWorkers([...SKILL, ...PROMPT])).toEqual([{ ...SKILL[0], name: 'greet' }, ...PROMPT]);
});
