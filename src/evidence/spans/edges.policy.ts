import type { JsonObject } from '../../platform/json/json.ts';
import { spanUsage, type Usage } from '../usage/usage.policy.ts';

/** One end of a span, as its event told it. */
export interface Edge {
  readonly end: 'start' | 'end';
  readonly spanId: string;
  readonly parentSpanId: string | null;
  readonly kind: string;
  readonly name: string;
  readonly status: string | null;
  /** The worker's own time, in milliseconds since 1970. */
  readonly atMs: number | null;
  readonly childRunId: string | null;
  readonly usage: Usage | null;
}

/** What a batch says about one span. Places count from 1, in the order of the batch; `bytes` are of the stored edges. */
export interface SpanChange {
  readonly span_id: string;
  parent_span_id: string | null;
  kind: string;
  name: string;
  status: string | null;
  readonly first_place: number;
  last_place: number;
  start_place: number | null;
  end_place: number | null;
  started_ms: number | null;
  ended_ms: number | null;
  child_run_id: string | null;
  usage: Usage | null;
  bytes: number;
}

/** A longer id fits into no index. Such an edge stays an event and makes no span. */
const ID_BYTES = 1_000;
/** Times outside of these are nobody's clock, and PostgreSQL does not hold all of them. */
const YEAR_1 = -62_135_596_800_000;
const YEAR_9999 = 253_402_300_799_999;

const text = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The edge that an event is; undefined for every other event, and for edges without a usable span id. */
export function edgeOf(event: JsonObject): Edge | undefined {
  const type = event['event_type'];
  if (type !== 'span.started' && type !== 'span.ended') return undefined;
  const spanId = usableId(event['span_id']);
  if (spanId === null) return undefined;
  const isEnd = type === 'span.ended';
  return {
    end: isEnd ? 'end' : 'start',
    spanId,
    parentSpanId: usableId(event['parent_span_id']),
    kind: text(event['kind']) ?? 'chain',
    name: text(event['name']) ?? '',
    status: isEnd ? text(event['status']) : null,
    atMs: timeOf(event['timestamp']),
    childRunId: text(event['child_run_id']),
    usage: (isEnd ? spanUsage(event) : undefined) ?? null,
  };
}

/** Gathers what the edges of a batch say about each span; of two equal ends of a span the first one counts. */
export class SpanChanges {
  private readonly bySpan = new Map<string, SpanChange>();

  add(edge: Edge, place: number, bytes: number): void {
    const change = this.bySpan.get(edge.spanId);
    if (!change) this.bySpan.set(edge.spanId, firstChange(edge, place, bytes));
    else join(change, edge, { place, bytes });
  }

  list(): SpanChange[] {
    return [...this.bySpan.values()];
  }
}

function firstChange(edge: Edge, place: number, bytes: number): SpanChange {
  const isStart = edge.end === 'start';
  return {
    span_id: edge.spanId,
    parent_span_id: edge.parentSpanId,
    kind: edge.kind,
    name: edge.name,
    status: edge.status,
    first_place: place,
    last_place: place,
    start_place: isStart ? place : null,
    end_place: isStart ? null : place,
    started_ms: isStart ? edge.atMs : null,
    ended_ms: isStart ? null : edge.atMs,
    child_run_id: edge.childRunId,
    usage: edge.usage,
    bytes,
  };
}

function join(
  change: SpanChange,
  edge: Edge,
  { place, bytes }: { readonly place: number; readonly bytes: number },
): void {
  change.last_place = place;
  change.bytes += bytes;
  change.parent_span_id ??= edge.parentSpanId;
  change.child_run_id ??= edge.childRunId;
  if (edge.end === 'start' && change.start_place === null) {
    change.start_place = place;
    change.started_ms = edge.atMs;
    change.kind = edge.kind; // what the start says about the span itself counts, whenever it comes
    change.name = edge.name;
  }
  if (edge.end === 'end' && change.end_place === null) {
    change.end_place = place;
    change.ended_ms = edge.atMs;
    change.status = edge.status;
    change.usage = edge.usage;
  }
}

function usableId(value: unknown): string | null {
  return typeof value === 'string' && value !== '' && Buffer.byteLength(value) <= ID_BYTES ? value : null;
}

/** Milliseconds since 1970; null for what is no time, or nobody's. */
export function timeOf(value: unknown): number | null {
  if (typeof value !== 'string' || value.length > 64) return null;
  const at = Date.parse(value);
  return at >= YEAR_1 && at <= YEAR_9999 ? at : null;
}
