import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { Truncation } from '../artifacts/artifacts.policy.ts';
import { toEventView } from '../events/view.policy.ts';
import type { LateEvidence } from './late.contract.ts';
import type { LateRow } from './late.store.ts';

/** How the intake keeps an event that came too late. */
interface KeptEvent {
  readonly event: JsonObject;
  readonly altered: readonly string[];
  readonly truncated: readonly Truncation[];
  readonly stream_seq: number | null;
}

export function toLateEvidence(row: LateRow): z.input<typeof LateEvidence> {
  const { at, attempt, worker_id, kind, why, content } = row;
  const isEvent = kind === 'event' || kind === 'message';
  return {
    at: wireTime(at),
    ...{ attempt, worker_id, kind, why },
    event: isEvent ? lateEvent(row, content as unknown as KeptEvent) : null,
    report: isEvent ? null : content,
  };
}

/** It never took a place in the run's sequence, and may name no attempt: both numbers are 0 then. */
function lateEvent({ at, attempt }: LateRow, { event, altered, truncated, stream_seq }: KeptEvent): JsonObject {
  return { ...toEventView({ event, altered, truncated, stream_seq, at, attempt: attempt ?? 0, seq: 0 }), late: true };
}
