import { wireTime } from '../../platform/clock/clock.ts';
import type { SpanRow } from './spans.store.ts';

const time = (at: Date | null): string | null => (at === null ? null : wireTime(at));

/** A span as lists show it. The worker's times stand as it told them; what lies between them is never less than nothing. */
export function toSkeleton(row: SpanRow) {
  return {
    span_id: row.span_id,
    parent_span_id: row.parent_span_id,
    seq: row.first_seq,
    changed_seq: row.changed_seq,
    attempt: row.attempt,
    kind: row.kind,
    name: row.name,
    status: knownStatus(row.status),
    started_at: time(row.started_at),
    ended_at: time(row.ended_at),
    duration_ms: row.started_at && row.ended_at ? Math.max(0, row.ended_at.getTime() - row.started_at.getTime()) : null,
    child_run_id: row.child_run_id,
    total_tokens: row.usage?.total_tokens ?? null,
    cost_amount: row.usage?.cost_amount ?? null,
    bytes: row.bytes,
    orphan: row.orphan,
    clock_skewed: row.clock_skewed,
  };
}

/** The status is closed on our wire; the worker's own word stands in its event. */
function knownStatus(status: string | null): 'ok' | 'error' | null {
  return status === 'ok' || status === 'error' ? status : null;
}
