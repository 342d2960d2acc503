import { describe, expect, it } from '@jest/globals';
import { firstDifference, stepOf } from './steps.policy.ts';
import type { StepRow } from './steps.store.ts';

const at = new Date(Date.UTC(2026, 10, 29, 12));
const ROW: StepRow = {
  ...{ span_id: 's', parent_span_id: 'p', kind: 'tool', name: 'lookup', status: 'ok', attempt: 1, first_seq: 4 },
  ...{ changed_seq: 9, start_seq: 4, end_seq: 9, started_at: at, ended_at: at, clock_skewed: false, bytes: 100 },
  ...{ child_run_id: null, usage: { total_tokens: 7 }, orphan: false, start_truncated: null, end_truncated: null },
  start: { event_type: 'span.started', payload: { args: { q: 1 }, tool_use_id: 't1' } },
  end: { event_type: 'span.ended', payload: { result: { hits: [1, 2] } } },
};
const step = (more: Partial<StepRow> = {}, hashes = new Map<string, string>()) => stepOf({ ...ROW, ...more }, hashes);
const difference = (more: Partial<StepRow>) => firstDifference(step(), step(more));

describe('a step', () => {
  it.each<[string, Partial<StepRow>]>([
    ['its ids', { span_id: 'x', parent_span_id: 'y', child_run_id: 'run_2', attempt: 2 }],
    ['its place and its times', { first_seq: 40, started_at: null, ended_at: new Date(0), clock_skewed: true }],
    ['what it used', { usage: null, bytes: 7 }],
    ['ids among its attributes', { start: { payload: { args: { q: 1 }, tool_use_id: 't2', duration_ms: 5 } } }],
  ])('is the same whatever %s', (_, more) => {
    expect(difference(more)).toBeUndefined();
  });

  it.each<[string, Partial<StepRow>, string]>([
    ['another name', { name: 'search' }, 'name'],
    ['another kind', { kind: 'llm' }, 'kind'],
    ['another outcome', { status: 'error' }, 'status'],
    ['another argument', { start: { payload: { args: { q: 2 } } } }, 'input.q'],
    ['another result', { end: { payload: { result: { hits: [1, 3] } } } }, 'output.hits[1]'],
    ['another model', { start: { payload: { args: { q: 1 }, model: 'm' } } }, 'attributes.model'],
    ['no end', { end: null }, 'output'],
  ])('with %s differs', (_, more, path) => {
    expect(difference(more)).toMatchObject({ path });
  });

  it('that is too large for its event is known by the whole of it', () => {
    const mark = { path: 'payload.result', artifact_id: 'art_1', bytes: 100_000 };
    const cut = { end_truncated: [mark] };
    const [same, other] = [new Map([['art_1', 'aa']]), new Map([['art_1', 'bb']])];
    expect(firstDifference(step(cut, same), step(cut, same))).toBeUndefined();
    expect(firstDifference(step(cut, same), step(cut, other))).toEqual({
      ...{ path: 'whole["payload.result"].sha256', left: 'aa', right: 'bb' },
    });
  });

  it('that only one run has differs by its name', () => {
    expect(firstDifference(step(), undefined)).toEqual({ path: 'name', left: 'lookup', right: null });
    expect(firstDifference(undefined, step())).toEqual({ path: 'name', left: null, right: 'lookup' });
  });
});
