import { describe, expect, it } from '@jest/globals';
import { closedTo } from './lifecycle.policy.ts';

const ASKED = ['rest', 'ui', 'chat', 'mcp', 'a2a', 'agent', 'replay', 'otlp'];
const AUTOMATED = ['webhook', 'schedule', 'slack', 'workflow', 'something new'];

describe('an agent', () => {
  it.each([...ASKED, ...AUTOMATED])('that is enabled takes runs of origin %s', (kind) => {
    expect(closedTo({ is_enabled: true, is_archived: false }, kind)).toBeUndefined();
  });

  it.each(ASKED)('K-11: that is disabled takes runs of origin %s', (kind) => {
    expect(closedTo({ is_enabled: false, is_archived: false }, kind)).toBeUndefined();
  });

  it.each(AUTOMATED)('K-9, K-10: that is disabled takes no runs of origin %s', (kind) => {
    expect(closedTo({ is_enabled: false, is_archived: false }, kind)?.code).toBe('agent.disabled');
  });

  it.each([...ASKED, ...AUTOMATED])('that is archived takes no runs of origin %s', (kind) => {
    for (const is_enabled of [true, false])
      expect(closedTo({ is_enabled, is_archived: true }, kind)?.code).toBe('agent.archived');
  });
});
