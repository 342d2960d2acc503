import { describe, expect, it } from '@jest/globals';
import { DeepJson, type JsonObject } from '../../platform/json/json.ts';
import { REDACTED } from './forms.policy.ts';
import { Masking } from './mask.policy.ts';
import { Matcher } from './matcher.policy.ts';

const SECRET = 'hunter2-and-more';
const matcher = Matcher.of([SECRET, '12345678', 'pin7']);

function masked(event: JsonObject) {
  const masking = new Masking(matcher);
  return { event: masking.event(event), counts: masking.masked };
}

describe('an event', () => {
  it('is masked in each of its fields, in keys and at any depth, and counted by field', () => {
    const { event, counts } = masked({
      event_type: `custom.${SECRET}`,
      name: SECRET,
      content: `${SECRET} and ${SECRET}`,
      span_id: `span_${SECRET}`,
      payload: { args: [{ [SECRET]: { deep: [SECRET, 12345678, 1.5] } }] },
      metadata: { note: SECRET },
      [`x${SECRET}`]: 1,
    });
    expect(JSON.stringify(event)).not.toMatch(/hunter2|12345678/);
    expect(event).toMatchObject({
      event_type: `custom.${REDACTED}`,
      payload: { args: [{ [REDACTED]: { deep: [REDACTED, REDACTED, 1.5] } }] },
    });
    expect(counts).toEqual({ event_type: 1, name: 1, content: 2, span_id: 1, payload: 3, metadata: 1, other: 1 });
  });

  it('without a value is the same object, and nothing is counted', () => {
    const given = { event_type: 'log.created', content: 'nothing', payload: { list: [1, true, null, 'x'] } };
    const before = JSON.stringify(given);
    const { event, counts } = masked(given);
    expect(event).toBe(given);
    expect(JSON.stringify(event)).toBe(before);
    expect(counts).toBeUndefined();
  });

  it('D-43: keeps every value when two keys look alike afterwards, in their order, and `__proto__` is a key', () => {
    const text = `{"a":1,"k-${SECRET}":2,"k-***REDACTED***":3,"k-${SECRET}12345678":4,"__proto__":{"${SECRET}":5},"z":6}`;
    const { event } = masked({ event_type: 'x', payload: JSON.parse(text) as JsonObject });
    expect(JSON.stringify(event['payload'])).toBe(
      `{"a":1,"k-${REDACTED}_2":2,"k-${REDACTED}":3,"k-${REDACTED}_3":4,"__proto__":{"${REDACTED}":5},"z":6}`,
    );
  });

  it('U-57: keeps its token counts, sequence and protocol words where a value looks like one', () => {
    const event = {
      event_type: 'token.created',
      event_sequence: 12345678,
      level: 'pin7',
      usage: { input_tokens: 12345678 },
      payload: { output_tokens: 12345678, call_usage: { total: 12345678 }, ok: true, one: 1, pin: 'pin7' },
    };
    expect(masked(structuredClone(event)).event).toEqual({ ...event, payload: { ...event.payload, pin: REDACTED } });
  });

  it('loses what is nested too deep to be built when that holds a value', () => {
    const deep = (text: string): JsonObject => ({ event_type: 'x', payload: { deep: new DeepJson(text, 200) } });
    expect(masked(deep(`[["${SECRET}"]]`)).event).toEqual({ event_type: 'x', payload: { deep: REDACTED } });
    expect(masked(deep('[["x"]]')).event).toEqual(deep('[["x"]]'));
  });
});

it('bearer secrets of ours are masked whoever they belong to', () => {
  const masking = new Masking(Matcher.of([]));
  const token = `swt_${'aB3_-'.repeat(9).slice(0, 43)}`;
  expect(masking.text(`Authorization: Bearer ${token}, sk_short`, 'content')).toBe(
    `Authorization: Bearer ${REDACTED}, sk_short`,
  );
  expect(masking.masked).toEqual({ content: 1 });
  expect(masking.total).toBe(1);
});
