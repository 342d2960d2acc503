import { describe, expect, it } from '@jest/globals';
import { SpanChanges, edgeOf, type SpanChange } from './edges.policy.ts';

const START = {
  event_type: 'span.started',
  span_id: 's1',
  kind: 'tool',
  name: 'lookup',
  parent_span_id: 'root',
  timestamp: '2026-11-29T20:08:34.691462+00:00',
};
const END = {
  event_type: 'span.ended',
  span_id: 's1',
  kind: 'tool',
  name: 'lookup',
  status: 'ok',
  timestamp: '2026-11-29T20:08:35.691Z',
};

function changes(...events: readonly Record<string, unknown>[]): SpanChange[] {
  const gathered = new SpanChanges();
  for (const [index, event] of events.entries()) {
    const edge = edgeOf(event);
    if (edge) gathered.add(edge, index + 1, 10);
  }
  return gathered.list();
}

describe('an edge', () => {
  it('of a start has what the start says', () => {
    expect(edgeOf(START)).toEqual({
      end: 'start',
      spanId: 's1',
      parentSpanId: 'root',
      kind: 'tool',
      name: 'lookup',
      status: null,
      atMs: Date.UTC(2026, 10, 29, 20, 8, 34, 691),
      childRunId: null,
      usage: null,
    });
  });

  it('of an end also has status, child run and usage', () => {
    const payload = { call_usage: { total_tokens: 7 } };
    expect(edgeOf({ ...END, child_run_id: 'run_2', payload })).toMatchObject({
      end: 'end',
      status: 'ok',
      childRunId: 'run_2',
      usage: { total_tokens: 7 },
    });
  });

  it('of a start has no usage, because nothing is consumed yet', () => {
    expect(edgeOf({ ...START, payload: { call_usage: { total_tokens: 7 } } })?.usage).toBeNull();
  });

  it('of an unknown kind keeps its text, without one it is a chain', () => {
    expect(edgeOf({ ...START, kind: 'retriever' })?.kind).toBe('retriever');
    expect(edgeOf({ ...START, kind: null })?.kind).toBe('chain');
  });

  it.each([
    ['another event', { event_type: 'log.created', span_id: 's1' }],
    ['no span id', { event_type: 'span.started' }],
    ['an empty span id', { event_type: 'span.started', span_id: '' }],
    ['an id that fits into no index', { event_type: 'span.started', span_id: 'x'.repeat(1_001) }],
  ])('is not made of an event with %s', (_, event) => {
    expect(edgeOf(event)).toBeUndefined();
  });

  it.each([
    ['yesterday'],
    [''],
    ['+275760-09-13T00:00:00Z'],
    ['-000001-01-01T00:00:00Z'],
    ['2'.repeat(65)],
    [null],
    [7],
  ])('has no time where %j stands', (timestamp) => {
    expect(edgeOf({ ...START, timestamp })?.atMs).toBeNull();
  });
});

describe('the edges of a batch', () => {
  const whole = { span_id: 's1', parent_span_id: 'root', kind: 'tool', name: 'lookup', status: 'ok', bytes: 20 };

  it('are joined by span', () => {
    expect(changes(START, END)).toEqual([
      expect.objectContaining({ ...whole, first_place: 1, last_place: 2, start_place: 1, end_place: 2 }),
    ]);
  });

  it('may come the wrong way round', () => {
    expect(changes({ ...END, name: 'other' }, START)).toEqual([
      expect.objectContaining({ ...whole, first_place: 1, last_place: 2, start_place: 2, end_place: 1 }),
    ]);
  });

  it('say what is open and what has only ended', () => {
    expect(changes(START)).toEqual([
      expect.objectContaining({ start_place: 1, end_place: null, ended_ms: null, status: null }),
    ]);
    expect(changes(END)).toEqual([
      expect.objectContaining({ start_place: null, started_ms: null, end_place: 1, status: 'ok' }),
    ]);
  });

  it('count once where an end is told twice: the first one stays', () => {
    expect(changes(START, END, { ...END, status: 'error' })).toEqual([
      expect.objectContaining({ status: 'ok', end_place: 2, last_place: 3, bytes: 30 }),
    ]);
  });

  it('of several spans keep the order in which these were seen first', () => {
    const spans = changes({ ...START, span_id: 'b' }, { ...START, span_id: 'a' }, { ...END, span_id: 'b' });
    expect(spans.map((span) => [span.span_id, span.first_place, span.last_place])).toEqual([
      ['b', 1, 3],
      ['a', 2, 2],
    ]);
  });

  it('may use names that are special elsewhere', () => {
    expect(
      changes({ ...START, span_id: '__proto__' }, { ...END, span_id: 'constructor' }).map((span) => span.span_id),
    ).toEqual(['__proto__', 'constructor']);
  });
});
