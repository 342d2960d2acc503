import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '../../platform/json/json.ts';
import type { LogRow } from '../events/log.store.ts';
import {
  SpokenText,
  endEvents,
  isWanted,
  partialText,
  rowEvent,
  type EndedRun,
  type StreamEvent,
} from './projection.policy.ts';

const AT = new Date(Date.UTC(2026, 10, 29, 12, 0, 0, 5));

function row(event: JsonObject, more: Partial<LogRow> = {}): LogRow {
  const type = typeof event['event_type'] === 'string' ? event['event_type'] : 'run.status';
  return {
    seq: 7,
    at: AT,
    attempt: 1,
    type,
    is_status: type === 'run.status',
    stream_seq: 3,
    event,
    altered: null,
    truncated: null,
    ...more,
  };
}

function text(value: unknown): LogRow {
  return row({ event_type: 'output.updated', payload: { text: value } });
}

function told(one: LogRow, spoken = new SpokenText()): StreamEvent {
  return rowEvent('run_1', one, spoken, partialText(one));
}

describe('a row of the sequence', () => {
  it('that is a move of the run is its status', () => {
    const moved = row({ status: 'running', attempt: 1, worker_id: 'w', code: null });
    expect(told(moved)).toEqual({
      id: 7,
      event: 'run.status',
      data: {
        run_id: 'run_1',
        status: 'running',
        attempt: 1,
        worker_id: 'w',
        at: '2026-11-29T12:00:00.005Z',
        code: null,
      },
    });
  });

  it('that is an event is that event with what is known of it', () => {
    const truncated = [{ path: 'content', artifact_id: 'art_1', bytes: 9 }];
    expect(told(row({ event_type: 'log.created', content: 'x' }, { altered: ['content'], truncated }))).toEqual({
      id: 7,
      event: 'run.event',
      data: {
        event_type: 'log.created',
        content: 'x',
        seq: 7,
        received_at: '2026-11-29T12:00:00.005Z',
        attempt: 1,
        stream_seq: 3,
        altered: ['content'],
        truncated,
        late: false,
      },
    });
  });

  it('keeps its own number where the worker’s event has one too', () => {
    expect(told(row({ event_type: 'custom.created', seq: 'mine', attempt: 99 })).data).toMatchObject({
      seq: 7,
      attempt: 1,
    });
  });

  it('that a worker called run.status is an event of its', () => {
    const borrowed = row(
      { event_type: 'run.status', status: 'succeeded' },
      { type: 'event/run.status', is_status: false },
    );
    expect(told(borrowed)).toMatchObject({
      event: 'run.event',
      data: { event_type: 'run.status', status: 'succeeded' },
    });
  });

  it.each([
    [{ payload: { progress: 0.5 } }, { progress: 0.5 }],
    [{ payload: { text: 7 } }, { text: 7 }],
    [{ payload: {} }, {}],
    [{}, {}],
  ])('that is a partial output without text tells the output: %j', (event, output) => {
    expect(told(row({ event_type: 'output.updated', ...event }))).toEqual({
      id: 7,
      event: 'output',
      data: { output, final: false },
    });
  });
});

describe('a text that grows', () => {
  it.each([
    ['', 'Hello', { delta: 'Hello' }],
    ['Hello', 'Hello world', { delta: ' world' }],
    ['Hello', 'Hello', { delta: '' }],
    ['Hello', 'Help', { delta: 'Help', reset: true }],
    ['Hello', '', { delta: '', reset: true }],
    ['', '', { delta: '' }],
  ])('from %j to %j is told as %j', (before, after, data) => {
    expect(told(text(after), new SpokenText(before))).toEqual({ id: 7, event: 'message.delta', data });
  });

  it('adds up to its last state, over replacements', () => {
    const spoken = new SpokenText();
    let heard = '';
    for (const state of ['a', 'ab', 'x', 'xyz', '', 'end']) {
      const { delta, reset } = told(text(state), spoken).data as { delta: string; reset?: true };
      heard = reset ? delta : heard + delta;
      expect(heard).toBe(state);
    }
  });
});

describe('the end of a run', () => {
  const end = (run: Partial<EndedRun>, spoken = ''): (readonly [number, string, object])[] => {
    const status = run.status ?? 'succeeded';
    const last = row({ status, attempt: 1, worker_id: 'w', code: `end.${status}` }, { seq: 20 });
    const events = endEvents(
      'run_1',
      { status, output: null, error: null, end_code: `end.${status}`, ...run },
      last,
      new SpokenText(spoken),
    );
    return events.map(({ id, event, data }) => [
      id,
      event,
      event === 'run.status' ? { status: (data as JsonObject)['status'] } : data,
    ]);
  };

  it('with a text that was never told tells it, completes it and gives the output', () => {
    expect(end({ output: { text: 'Hi', n: 1 } })).toEqual([
      [16, 'message.delta', { delta: 'Hi' }],
      [17, 'message.completed', { text: 'Hi' }],
      [18, 'output', { output: { text: 'Hi', n: 1 }, final: true }],
      [20, 'run.status', { status: 'succeeded' }],
    ]);
  });

  it.each([
    ['Hi', 'Hi', []],
    ['Hi there', 'Hi', [[16, 'message.delta', { delta: ' there' }]]],
    ['Hi', 'Ho', [[16, 'message.delta', { delta: 'Hi', reset: true }]]],
    ['', '', []],
    ['', 'Hi', [[16, 'message.delta', { delta: '', reset: true }]]],
  ])('with the text %j, after %j was told, adds %j', (final, spoken, deltas) => {
    const told = end({ output: { text: final } }, spoken);
    expect(told.slice(0, -3)).toEqual(deltas);
    expect(told.slice(-3).map(([id, event]) => [id, event])).toEqual([
      [17, 'message.completed'],
      [18, 'output'],
      [20, 'run.status'],
    ]);
  });

  it('without a text gives the output alone', () => {
    expect(end({ output: { rows: 3 } }).map(([id, event]) => [id, event])).toEqual([
      [18, 'output'],
      [20, 'run.status'],
    ]);
    expect(end({ output: { text: null } }).map(([, event]) => event)).toEqual(['output', 'run.status']);
  });

  it('of a failure gives code and reason', () => {
    expect(end({ status: 'failed', error: 'ValueError: no' })).toEqual([
      [19, 'error', { code: 'end.failed', detail: 'ValueError: no' }],
      [20, 'run.status', { status: 'failed' }],
    ]);
  });

  it('of a failure after a partial output gives both', () => {
    expect(
      end({ status: 'failed', output: { text: 'half' }, error: 'x' }, 'half').map(([id, event]) => [id, event]),
    ).toEqual([
      [17, 'message.completed'],
      [18, 'output'],
      [19, 'error'],
      [20, 'run.status'],
    ]);
  });

  it('of a cancelled run is its status', () => {
    expect(end({ status: 'cancelled' })).toEqual([[20, 'run.status', { status: 'cancelled' }]]);
  });
});

describe('a reader of some events only', () => {
  const log: StreamEvent = { id: 1, event: 'run.event', data: { event_type: 'log.created' } };
  const delta: StreamEvent = { id: 2, event: 'message.delta', data: { delta: 'x' } };
  const done: StreamEvent = { id: 3, event: 'done', data: {} };

  it.each([
    [undefined, [true, true, true]],
    [['message.delta'], [false, true, true]],
    [['run.event'], [true, false, true]],
    [['log.created'], [true, false, true]],
    [['span.started'], [false, false, true]],
  ])('%j', (types, wanted) => {
    const set = types && new Set(types);
    expect([log, delta, done].map((event) => isWanted(event, set))).toEqual(wanted);
  });
});
