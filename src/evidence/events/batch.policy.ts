import { hash } from 'node:crypto';
import { canonicalJson, type JsonObject } from '../../platform/json/json.ts';
import { fitEvent, type EventLimits, type NewArtifact, type Truncation } from '../artifacts/artifacts.policy.ts';
import { SpanChanges, edgeOf, type Edge, type SpanChange } from '../spans/edges.policy.ts';
import { runningTotal, type Usage } from '../usage/usage.policy.ts';
import { refusalOf, type RefusalCode } from './checks.policy.ts';

/** What makes an event the same event: 16 bytes of a hash. */
export const IDENTITY_BYTES = 16;
/** The runs' own rows are called so; a worker that calls its event so gets another name for it in the index. */
const STATUS_TYPE = 'run.status';
const BORROWED_STATUS_TYPE = 'event/run.status';

/** One event, ready to be stored. */
export interface ReadyEvent {
  readonly type: string;
  /** The event as it is stored, one line of JSON. */
  readonly text: string;
  readonly identity: Buffer | null;
  readonly altered: readonly string[];
  readonly truncated: readonly Truncation[];
  readonly artifacts: readonly NewArtifact[];
  /** The worker's own, as it wrote it. */
  readonly timestamp: unknown;
  readonly edge: Edge | undefined;
  /** A running total. */
  readonly total: Usage | undefined;
  /** Of `output.updated`: the output whole, as JSON. */
  readonly output: string | undefined;
}

export interface Refusal {
  readonly index: number;
  readonly code: RefusalCode;
}

export interface ReadyBatch {
  readonly events: readonly ReadyEvent[];
  readonly refused: readonly Refusal[];
}

export interface Preparation {
  readonly limits: EventLimits;
  readonly newArtifactId: () => string;
  /** Altered paths by the event's place in the batch, relative to the event. */
  readonly alteredOf: (index: number) => readonly string[] | undefined;
}

const NOTHING: readonly string[] = [];

/** Makes a batch ready: what cannot be an event is named, everything else is kept. */
export function prepareBatch(events: readonly unknown[], preparation: Preparation): ReadyBatch {
  const ready: ReadyEvent[] = [];
  const refused: Refusal[] = [];
  for (const [index, event] of events.entries()) {
    const altered = preparation.alteredOf(index);
    const code = refusalOf(event, altered);
    if (code) refused.push({ index, code });
    else ready.push(prepareEvent(event as JsonObject, altered ?? NOTHING, preparation));
  }
  return { events: ready, refused };
}

/** Takes the event over: what does not fit is replaced in it. */
export function prepareEvent(
  event: JsonObject,
  altered: readonly string[],
  { limits, newArtifactId }: Pick<Preparation, 'limits' | 'newArtifactId'>,
): ReadyEvent {
  const type = event['event_type'] as string;
  const identity = identityOf(event);
  const edge = edgeOf(event);
  const total = type === 'token.created' ? runningTotal(event) : undefined;
  const whole = type === 'output.updated' ? JSON.stringify(event['payload']) : undefined;
  const { text, artifacts, truncated, tooDeep } = fitEvent(event, limits, newArtifactId);
  return {
    type: columnType(type),
    text,
    identity,
    altered: tooDeep.length > 0 ? [...altered, ...tooDeep] : altered,
    truncated,
    artifacts,
    timestamp: event['timestamp'] ?? undefined,
    edge,
    total,
    output: tooDeep.length > 0 && whole !== undefined ? JSON.stringify(event['payload']) : whole,
  };
}

/** How a type is called in the index. */
export function columnType(type: string): string {
  return type === STATUS_TYPE ? BORROWED_STATUS_TYPE : type;
}

/**
 * An event is its `event_id` together with its `event_sequence`, because the worker SDK uses one id for a whole run. One
 * that lacks either is its own content: SDK 0.1 sends a batch again whole, and then in halves.
 */
export function identityOf(event: JsonObject): Buffer {
  const { event_id: id, event_sequence: sequence } = event;
  const isNamed = typeof id === 'string' && id !== '' && (typeof sequence === 'number' || typeof sequence === 'string');
  return hash('sha256', isNamed ? `${id}\0${sequence}` : canonicalJson(event), 'buffer').subarray(0, IDENTITY_BYTES);
}

/** A batch as columns: what one statement takes. */
export interface BatchColumns {
  readonly count: number;
  /** Tool spans that begin here. */
  readonly toolCalls: number;
  /** One event a line: JSON has no line breaks of its own, so nothing need be quoted. */
  readonly lines: string;
  readonly types: readonly string[];
  /** All identities in a row; null where the one event has none. */
  readonly identities: Buffer | null;
  /** `{place: {altered, truncated}}` of the few events that have marks. */
  readonly marks: string | null;
  readonly spans: string | null;
  readonly artifacts: string | null;
  /** The last of the batch: a running total replaces the one before. */
  readonly total: string | null;
  readonly output: string | null;
  readonly hasSpanUsage: boolean;
}

export function columnsOf(events: readonly ReadyEvent[]): BatchColumns {
  const spans = new SpanChanges();
  const marks: Record<number, object> = {};
  const artifacts: NewArtifact[] = [];
  for (const [index, { edge, text, altered, truncated, artifacts: own }] of events.entries()) {
    const place = index + 1;
    if (edge) spans.add(edge, place, Buffer.byteLength(text));
    if (altered.length > 0 || truncated.length > 0) marks[place] = { altered, truncated };
    if (own.length > 0) artifacts.push(...own);
  }
  const changes = spans.list();
  const total = events.findLast((event) => event.total)?.total;
  return {
    count: events.length,
    toolCalls: changes.filter(({ kind, start_place: start }) => kind === 'tool' && start !== null).length,
    lines: events.map(({ text }) => text).join('\n'),
    types: events.map(({ type }) => type),
    identities: joined(events),
    marks: jsonUnlessEmpty(Object.keys(marks).length, marks),
    spans: jsonUnlessEmpty(changes.length, changes),
    artifacts: jsonUnlessEmpty(artifacts.length, artifacts),
    total: total ? JSON.stringify(total) : null,
    output: events.findLast(({ output }) => output !== undefined)?.output ?? null,
    hasSpanUsage: changes.some(({ usage }: SpanChange) => usage !== null),
  };
}

function joined(events: readonly ReadyEvent[]): Buffer | null {
  const identities = events.map(({ identity }) => identity).filter((identity) => identity !== null);
  return identities.length === events.length ? Buffer.concat(identities) : null;
}

function jsonUnlessEmpty(size: number, value: unknown): string | null {
  return size === 0 ? null : JSON.stringify(value);
}
