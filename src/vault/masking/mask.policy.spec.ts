import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { DeepJson, type JsonObject } from '../../platform/json/json.ts';
import { REDACTED } from './forms.policy.ts';
import { Masking } from './mask.policy.ts';
import { Matcher } from './matcher.policy.ts';

const SECRET = 'hunter2-and-more';
const matcher = Matcher.of([SECRET, '12345678', 'pin7']);

function masked(event: JsonObject) {
  const masking = new Masking(matcher);
  const before = structuredClone(event);
  const result = masking.event(event);
  if (result !== event) expect(structuredClone(event)).toEqual(before);
  expect(masking.isClean(JSON.stringify(before))).toBe(result === event);
  return { event: result, counts: masking.masked };
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

  it.each([
    ['JSON', JSON.stringify({ value: 'q"uo\\te-and-ü' })],
    ['JSON in JSON', JSON.stringify(JSON.stringify(['q"uo\\te-and-ü']))],
  ])('that holds a value as %s is not mistaken for a clean one', (_, content) => {
    const masking = new Masking(Matcher.of(['q"uo\\te-and-ü']));
    const event = { event_type: 'x', content };
    expect(masking.isClean(JSON.stringify(event))).toBe(false);
    expect(masking.event(event)['content']).toContain(REDACTED);
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

describe('a bearer secret of ours', () => {
  const token = `swt_${'aB3_-'.repeat(9).slice(0, 43)}`;
  const ofRun = `srt_${Buffer.from('["k","acct_1","run_1","agent_1",1]').toString('base64url')}.${'x'.repeat(43)}`;

  it.each([
    ['a worker’s token', `Bearer ${token}, sk_short`, `Bearer ${REDACTED}, sk_short`],
    ['a key', `key=${token.replace('swt', 'sk')}`, `key=${REDACTED}`],
    ['a run’s token', `"${ofRun}"`, `"${REDACTED}"`],
    ['in base64', `Basic ${Buffer.from(token).toString('base64')}`, `Basic ${REDACTED}`],
    ['in base64 behind a name', `Basic ${Buffer.from(`x:${token}`).toString('base64')}`, `Basic ${REDACTED}`],
    ['in base64 behind another', `Basic ${Buffer.from(`x${token}:`).toString('base64')}`, `Basic ${REDACTED}`],
  ])('is masked whoever it belongs to: %s', (_, text, expected) => {
    const masking = new Masking(Matcher.of([]));
    expect(masking.isClean(text)).toBe(false);
    expect(masking.text(text, 'content')).toBe(expected);
    expect(masking.masked).toEqual({ content: 1 });
  });

  it('is none where it only begins like one', () => {
    const masking = new Masking(Matcher.of([]));
    for (const text of ['sk_1234567890', 'task_'.repeat(20), `c3d0X${'A'.repeat(80)}`])
      expect(masking.text(text, 'content')).toBe(text);
    expect(masking.total).toBe(0);
  });
});

it('D-43: an event that is taken for clean holds nothing that would be masked', () => {
  const writers: readonly ((value: string) => unknown)[] = [
    (value) => value,
    (value) => JSON.stringify([value]),
    (value) => JSON.stringify(JSON.stringify({ value })),
    (value) => Buffer.from(`x${value}`).toString('base64'),
    (value) => encodeURIComponent(value),
    (value) => ({ [value]: [value] }),
    (value) => Number(value),
  ];
  const values = fc.oneof(
    fc.string({ minLength: 4, maxLength: 30, unit: 'grapheme' }),
    fc.integer({ min: 1_000 }).map(String),
  );
  fc.assert(
    fc.property(values, fc.constantFrom(...writers), fc.jsonValue(), (value, write, rest) => {
      const masking = new Masking(Matcher.of([value]));
      const event = JSON.parse(
        JSON.stringify({ event_type: 'x', content: 'c', payload: { said: write(value), rest }, more: write(value) }),
      ) as JsonObject;
      const isClean = masking.isClean(JSON.stringify(event));
      expect([isClean, masking.event(event) === event]).not.toEqual([true, false]);
    }),
    { numRuns: 1_000 },
  );
});
