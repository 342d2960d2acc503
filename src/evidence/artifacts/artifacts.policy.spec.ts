import { describe, expect, it } from '@jest/globals';
import { parseEvidence, type JsonObject } from '../../platform/json/json.ts';
import { fitEvent, previewOf, type EventLimits, type Fitted } from './artifacts.policy.ts';

const LIMITS: EventLimits = { fieldBytes: 65_536, eventBytes: 1_048_576, artifactBytes: 33_554_432, depth: 64 };

function fit(event: JsonObject, limits: Partial<EventLimits> = {}): Fitted & { readonly event: JsonObject } {
  let made = 0;
  const fitted = fitEvent(event, { ...LIMITS, ...limits }, () => `art_${(made += 1)}`);
  return { ...fitted, event: JSON.parse(fitted.text) as JsonObject };
}

function nested(levels: number): unknown {
  return JSON.parse(`${'{"in":'.repeat(levels)}"bottom"${'}'.repeat(levels)}`);
}

describe('an event that fits', () => {
  it.each([
    [{ event_type: 'log.created', content: 'short' }],
    [{ event_type: 'log.created', content: 'x'.repeat(65_536 - 100) }],
    [{ event_type: 'log.created', content: 'x'.repeat(65_536) }],
    [{ event_type: 'span.ended', payload: { one: 'x'.repeat(60_000), two: 'y'.repeat(60_000) } }],
    [{ event_type: 'span.ended', payload: { result: nested(63) } }],
    [{ event_type: 'span.ended', extra: nested(64) }],
    [
      JSON.parse(
        '{"event_type":"x","__proto__":{"z":1},"constructor":{"prototype":2},"x.999999999.y":3}',
      ) as JsonObject,
    ],
  ])('stays as it is (%#)', (event) => {
    const before = JSON.stringify(event);
    expect(fit(event)).toMatchObject({ text: before, artifacts: [], truncated: [], tooDeep: [] });
  });
});

describe('a field that is larger than its limit', () => {
  it('F-41: becomes an artifact with its whole text, and keeps a preview and a mark', () => {
    const content = 'long '.repeat(20_000);
    const { event, artifacts, truncated } = fit({ event_type: 'log.created', content, level: 'INFO' });
    expect(event).toEqual({ event_type: 'log.created', content: content.slice(0, 1_024), level: 'INFO' });
    expect(artifacts).toEqual([
      { id: 'art_1', name: 'log.created.content', mimeType: 'text/plain', content, bytes: 100_000, isCut: false },
    ]);
    expect(truncated).toEqual([{ path: 'content', artifact_id: 'art_1', bytes: 100_000 }]);
  });

  it.each([
    ['text', 'é'.repeat(40_000), 'text/plain'],
    ['list', Array.from({ length: 20_000 }, (_, index) => index), 'application/json'],
    ['object', { rows: 'x'.repeat(70_000) }, 'application/json'],
  ])('inside the payload leaves its neighbours alone: %s', (_, value, mimeType) => {
    const { event, artifacts, truncated } = fit({ event_type: 'span.ended', payload: { result: value, ok: true } });
    expect(event['payload']).toEqual({ result: expect.any(String), ok: true });
    expect(artifacts).toHaveLength(1);
    expect(artifacts[0]).toMatchObject({ name: 'span.ended.payload.result', mimeType });
    expect(artifacts[0]?.content).toBe(typeof value === 'string' ? value : JSON.stringify(value));
    expect(truncated).toEqual([{ path: 'payload.result', artifact_id: 'art_1', bytes: artifacts[0]?.bytes }]);
  });

  it('is measured in bytes of UTF-8', () => {
    expect(fit({ event_type: 'x', content: 'é'.repeat(32_768) }).artifacts).toHaveLength(0);
    expect(fit({ event_type: 'x', content: 'é'.repeat(32_769) }).artifacts).toHaveLength(1);
  });

  it('may be called __proto__', () => {
    const event = JSON.parse(`{"event_type":"x","payload":{"__proto__":"${'p'.repeat(70_000)}"}}`) as JsonObject;
    const { text, truncated } = fit(event);
    expect(text).toBe(`{"event_type":"x","payload":{"__proto__":"${'p'.repeat(1_024)}"}}`);
    expect(truncated[0]?.path).toBe('payload.__proto__');
  });

  it('that is larger than an artifact may be is cut there, between two characters, and says so', () => {
    const { artifacts, truncated } = fit(
      { event_type: 'x', content: `a${'é'.repeat(50_000)}` },
      { artifactBytes: 80_000 },
    );
    expect(artifacts[0]).toMatchObject({ content: `a${'é'.repeat(39_999)}`, bytes: 79_999, isCut: true });
    expect(truncated[0]?.bytes).toBe(100_001);
  });
});

describe('a value that is nested too deep', () => {
  it.each([
    [{ event_type: 'x', payload: { deep: nested(64), flat: 1 } }, 'payload.deep', 64],
    [{ event_type: 'x', payload: { deep: nested(80), flat: 1 } }, 'payload.deep', 80],
    [{ event_type: 'x', metadata: { deep: nested(120) } }, 'metadata.deep', 120],
    [{ event_type: 'x', extra: [nested(64)] }, 'extra', 64],
  ])('F-40: becomes an artifact, alone (%#)', (event, path, levels) => {
    const { artifacts, truncated, tooDeep } = fit(event);
    expect(tooDeep).toEqual([path]);
    expect(truncated.map((mark) => mark.path)).toEqual([path]);
    expect(artifacts[0]?.mimeType).toBe('application/json');
    expect(artifacts[0]?.content.split('"in"')).toHaveLength(levels + 1);
  });

  it('keeps every level, also those that were never built', () => {
    const body = Buffer.from(`{"event_type":"x","payload":{"deep":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`);
    const read = parseEvidence(body);
    const { artifacts, event } = fit((read.ok ? read.value : {}) as JsonObject);
    expect(artifacts[0]?.content).toBe(`${'['.repeat(100_000)}${']'.repeat(100_000)}`);
    expect(event['payload']).toEqual({ deep: '['.repeat(1_024) });
  });
});

describe('an event that is larger than its limit', () => {
  it('loses its largest fields until it fits, and no more', () => {
    const payload = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [`field${index}`, 'x'.repeat(40_000 + index)]),
    );
    const { event, truncated, text } = fit({ event_type: 'x', payload });
    expect(truncated.map(({ path }) => path)).toEqual([
      'payload.field29',
      'payload.field28',
      'payload.field27',
      'payload.field26',
    ]);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_048_576);
    expect(event['payload']).toMatchObject({ field25: payload['field25'], field26: 'x'.repeat(1_024) });
  });

  it('of very many small members becomes one artifact', () => {
    const payload = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`member${index}`, index]));
    const { event, artifacts } = fit({ event_type: 'x', content: 'stays', payload });
    expect(artifacts).toHaveLength(1);
    expect(JSON.parse(artifacts[0]?.content ?? '')).toEqual(payload);
    expect(event).toEqual({
      event_type: 'x',
      content: 'stays',
      payload: { preview: expect.stringMatching(/^\{"member0":0/) },
    });
  });

  it('is fitted in a time that grows with its size only', () => {
    const payload = Object.fromEntries(
      Array.from({ length: 4_000 }, (_, index) => [`field${index}`, 'x'.repeat(4_000)]),
    );
    const startedAt = performance.now();
    const { text } = fit({ event_type: 'x', payload });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(1_048_576);
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});

describe('a preview', () => {
  it.each([
    ['short', 'short'],
    ['x'.repeat(1_024), 'x'.repeat(1_024)],
    ['x'.repeat(1_025), 'x'.repeat(1_024)],
    [`${'x'.repeat(1_023)}😀y`, 'x'.repeat(1_023)],
    [`${'x'.repeat(1_022)}😀y`, `${'x'.repeat(1_022)}😀`],
  ])('never ends in half a character (%#)', (text, preview) => {
    expect(previewOf(text)).toBe(preview);
  });
});
