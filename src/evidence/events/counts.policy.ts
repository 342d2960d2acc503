import type { ReadyEvent } from './batch.policy.ts';

const KINDS = {
  'log.created': 'log_events',
  'message.created': 'messages',
  'output.updated': 'output_updates',
  'span.started': 'trace_events',
  'span.ended': 'trace_events',
} as const;

/** How many events of each kind there are. */
export function countKinds(events: readonly Pick<ReadyEvent, 'type'>[]) {
  const counts = { events: events.length, log_events: 0, messages: 0, output_updates: 0, trace_events: 0 };
  for (const { type } of events) if (Object.hasOwn(KINDS, type)) counts[KINDS[type as keyof typeof KINDS]] += 1;
  return counts;
}
