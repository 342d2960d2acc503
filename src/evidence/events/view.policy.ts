import { wireTime } from '../../platform/clock/clock.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { LogRow } from './log.store.ts';

/** An event as readers see it: as it was stored, and what we know of it beside. */
export function toEventView(row: Omit<LogRow, 'type' | 'is_status'>): JsonObject {
  const { event, seq, at, attempt, stream_seq, altered, truncated } = row;
  return {
    ...event,
    seq,
    received_at: wireTime(at),
    attempt,
    stream_seq,
    altered: altered ?? [],
    truncated: truncated ?? [],
    late: false,
  };
}

/** The day on which a run was created, in UTC: where its evidence is. */
export function dayOf(createdAt: Date): string {
  return wireTime(createdAt).slice(0, 10);
}
