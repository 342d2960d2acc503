import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../platform/json/json.ts';
import {
  IDENTITY_BYTES,
  columnType,
  columnsOf,
  identityOf,
  prepareEvents,
  readBatch,
  type ReadyEvent,
  type Refusal,
} from './batch.policy.ts';

const limits = { fieldBytes: 65_536, eventBytes: 1_048_576, artifactBytes: 33_554_432, depth: 64 };

interface Prepared {
  readonly events: readonly ReadyEvent[];
  readonly refused: readonly Refusal[];
}

function prepare(events: readonly unknown[], altered: Readonly<Record<number, readonly string[]>> = {}): Prepared {
  let made = 0;
  const { events: given, refused } = readBatch(events, (index) => altered[index]);
  return { events: prepareEvents(given, { limits, newArtifactId: () => `art_${(made += 1)}` }), refused };
}

const hex = (event: JsonObject): string => identityOf(event).toString('hex');

describe('what makes an event the same event', () => {
  it('is its id together with its sequence, whatever else it says', () => {
    const one = { event_type: 'log.created', event_id: 'e', event_sequence: 1 };
    expect(hex({ ...one, content: 'other', event_type: 'custom.created' })).toBe(hex(one));
    expect(hex({ ...one, event_sequence: 2 })).not.toBe(hex(one));
    expect(hex({ ...one, event_id: 'f' })).not.toBe(hex(one));
    expect(identityOf(one)).toHaveLength(IDENTITY_BYTES);
  });

  it('does not mistake one pair for another', () => {
    expect(hex({ event_id: 'e1', event_sequence: 1 })).not.toBe(hex({ event_id: 'e', event_sequence: 11 }));
  });

  it.each([
    [{}],
    [{ event_id: 'e' }],
    [{ event_sequence: 1 }],
    [{ event_id: '', event_sequence: 1 }],
    [{ event_id: null, event_sequence: 1 }],
    [{ event_id: 'e', event_sequence: null }],
  ])('is all that it says where its name is not whole: %j', (name) => {
    const one = { ...name, event_type: 'log.created', content: 'x' };
    expect(hex(Object.fromEntries(Object.entries(one).reverse()))).toBe(hex(one));
    expect(hex({ ...one, content: 'y' })).not.toBe(hex(one));
  });
});

describe('a batch', () => {
  it('names what is no event by its place and keeps the rest in order', () => {
    const { events, refused } = prepare([{ event_type: 'a' }, 7, { event_type: 'b' }, {}]);
    expect(events.map(({ type }) => type)).toEqual(['a', 'b']);
    expect(refused).toEqual([
      { index: 1, code: 'event.not_object' },
      { index: 3, code: 'event.no_type' },
    ]);
  });

  it('marks what was altered on its event, also what was nested too deep', () => {
    const deep = JSON.parse(`${'['.repeat(80)}${']'.repeat(80)}`) as unknown;
    const { events } = prepare([{ event_type: 'a' }, { event_type: 'b', payload: { deep } }], { 1: ['content'] });
    expect(events.map(({ altered }) => altered)).toEqual([[], ['content', 'payload.deep']]);
  });

  it('calls no event as the moves of a run are called', () => {
    expect(
      prepare([{ event_type: 'run.status' }, { event_type: 'run.started' }]).events.map(({ type }) => type),
    ).toEqual(['event/run.status', 'run.started']);
    expect(columnType('log.created')).toBe('log.created');
  });

  it('keeps a partial output whole beside the event that has only its beginning', () => {
    const [event] = prepare([{ event_type: 'output.updated', payload: { text: 'x'.repeat(70_000) } }]).events;
    expect(event?.output).toBe(`{"text":"${'x'.repeat(70_000)}"}`);
    expect(event?.text.length).toBeLessThan(2_000);
  });
});

describe('the columns of a batch', () => {
  const columns = (...events: readonly object[]) => columnsOf(prepare(events).events);

  it('have one line an event, whatever the events say', () => {
    const contents = ['a\nb', 'c\r\u2028d', '"\\', ''];
    const { lines, count, types } = columns(...contents.map((content) => ({ event_type: 'line\nbreak', content })));
    expect(lines.split('\n').map((line) => (JSON.parse(line) as { content: string }).content)).toEqual(contents);
    expect([count, types.length]).toEqual([4, 4]);
  });

  it('have the identities in a row, and none where an event has none', () => {
    const { events } = prepare([{ event_type: 'a' }, { event_type: 'b' }]);
    expect(columnsOf(events).identities).toEqual(Buffer.concat(events.map(({ identity }) => identity ?? Buffer.of())));
    expect(columnsOf(events.slice(0, 1).map((event) => ({ ...event, identity: null }))).identities).toBeNull();
  });

  it('say nothing of what a batch of plain events does not have', () => {
    expect(columns({ event_type: 'log.created' })).toMatchObject({
      marks: null,
      spans: null,
      artifacts: null,
      total: null,
      output: null,
      toolCalls: 0,
      hasSpanUsage: false,
    });
  });

  it('have the marks of marked events by their place', () => {
    const { events } = prepare([{ event_type: 'a' }, { event_type: 'b', content: 'x'.repeat(70_000) }], {
      0: ['name'],
    });
    expect(JSON.parse(columnsOf(events).marks ?? '')).toEqual({
      1: { altered: ['name'], truncated: [] },
      2: { altered: [], truncated: [{ path: 'content', artifact_id: 'art_1', bytes: 70_000 }] },
    });
  });

  it('have the last running total and the last output', () => {
    const total = (tokens: number) => ({ event_type: 'token.created', usage: { total_tokens: tokens } });
    const said = columns(
      total(10),
      { event_type: 'output.updated', payload: { text: 'a' } },
      total(20),
      { event_type: 'output.updated', payload: { n: 1 } },
      { event_type: 'token.created', payload: { no: 'numbers' } },
    );
    expect([said.total, said.output]).toEqual(['{"total_tokens":20}', '{"n":1}']);
  });

  it('count tool spans that begin, each once', () => {
    const edge = (type: string, id: string, kind = 'tool') => ({ event_type: `span.${type}`, span_id: id, kind });
    expect(
      columns(
        edge('started', 'a'),
        edge('ended', 'a'),
        edge('started', 'b', 'llm'),
        edge('ended', 'c'),
        edge('started', 'd'),
        edge('started', 'd'),
      ).toolCalls,
    ).toBe(2);
  });
});
