import { wireTime } from '../../platform/clock/clock.ts';
import type { RunDetailView } from '../lifecycle/lifecycle.policy.ts';

/** A stored event with its number and when it was received. */
export interface RecordRow {
  readonly seq: number;
  readonly at: Date;
  readonly event: Readonly<Record<string, unknown>>;
}

type LogEvent = RunDetailView['log_events'][number];
type Message = RunDetailView['messages'][number];
type TraceEvent = RunDetailView['trace_events'][number];

/** The contract's closed lists. What else a worker says stands in `/runs/{id}/events` as it was sent. */
export const SPAN_KINDS = ['agent', 'llm', 'tool', 'chain', 'generation'] as const;
export const HOOK_EVENTS = [
  'session.start',
  'prompt.submit',
  'tool.start',
  'tool.end',
  'tool.error',
  'subagent.start',
  'subagent.end',
  'notification',
  'session.stop',
  'compaction.start',
  'compaction.end',
] as const;

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const count = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null);
const object = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {};

/** The worker's own time as it wrote it, else when we received it. */
function timestamp({ at, event }: RecordRow): string {
  return text(event['timestamp']) ?? wireTime(at);
}

function hookType(event: RecordRow['event']): LogEvent['hook_event_type'] {
  return HOOK_EVENTS.find((name) => name === event['hook_event_type']) ?? null;
}

const identity = (event: RecordRow['event']) => ({
  event_id: text(event['event_id']),
  event_sequence: count(event['event_sequence']),
});
const place = (event: RecordRow['event']) => ({ span_id: text(event['span_id']), trace_id: text(event['trace_id']) });

export function toLogEvent(runId: string, row: RecordRow): LogEvent {
  const { event, seq } = row;
  return {
    id: seq,
    run_id: runId,
    level: text(event['level']) ?? 'INFO',
    logger: text(event['logger']) ?? 'agentops',
    message: text(event['content']) ?? '',
    attributes: object(event['payload']),
    hook_event_type: hookType(event),
    timestamp: timestamp(row),
    ...place(event),
    ...identity(event),
  };
}

export function toMessage(runId: string, row: RecordRow): Message {
  const { event, seq } = row;
  return {
    id: seq,
    run_id: runId,
    role: text(event['role']) ?? 'assistant',
    content: text(event['content']) ?? '',
    message_type: text(event['message_type']) ?? 'progress',
    payload: object(event['payload']),
    timestamp: timestamp(row),
    ...identity(event),
  };
}

export function toTraceEvent(runId: string, row: RecordRow): TraceEvent {
  const { event, seq } = row;
  return {
    id: seq,
    run_id: runId,
    span_id: text(event['span_id']) ?? '',
    parent_span_id: text(event['parent_span_id']),
    event_type: event['event_type'] === 'span.ended' ? 'span.end' : 'span.start',
    span_kind: SPAN_KINDS.find((kind) => kind === event['kind']) ?? 'chain',
    name: text(event['name']) ?? '',
    status: text(event['status']),
    payload: object(event['payload']),
    hook_event_type: hookType(event),
    timestamp: timestamp(row),
    trace_id: text(event['trace_id']),
    ...identity(event),
  };
}
