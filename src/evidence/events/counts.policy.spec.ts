import { describe, expect, it } from '@jest/globals';
import { countKinds } from './counts.policy.ts';

describe('the kinds of events in a batch', () => {
  it.each([
    ['log.created', { log_events: 1 }],
    ['message.created', { messages: 1 }],
    ['output.updated', { output_updates: 1 }],
    ['span.started', { trace_events: 1 }],
    ['span.ended', { trace_events: 1 }],
    ['token.created', {}],
    ['custom.created', {}],
    ['constructor', {}],
    ['a.type.of.tomorrow', {}],
  ])('%s counts as %j', (type, kinds) => {
    expect(countKinds([{ type }])).toEqual({
      events: 1,
      log_events: 0,
      messages: 0,
      output_updates: 0,
      trace_events: 0,
      ...kinds,
    });
  });
});
