import { hash } from 'node:crypto';
import { DeepJson, canonicalJson, isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import { Matcher, type Masked } from '../../vault/index.ts';
import {
  fitEvent,
  fitted,
  smallText,
  type EventLimits,
  type NewArtifact,
  type Truncation,
} from '../artifacts/artifacts.policy.ts';
import { SpanChanges, edgeOf, type Edge, type SpanChange } from '../spans/edges.policy.ts';
import { runningTotal, type Usage } from '../usage/usage.policy.ts';
import { refusalOf, type RefusalCode } from './checks.policy.ts';
import { BatchMask, type MaskedEvent } from './masked.policy.ts';

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
  readonly masked: Masked | undefined;
  /** It takes its number and is not told yet: what is to be sealed of it meanwhile. */
  readonly waiting: MaskedEvent | undefined;
}

export interface Refusal {
  readonly index: number;
  readonly code: RefusalCode;
}

/** An event that can be kept, as it was sent. */
export interface GivenEvent {
  readonly event: JsonObject;
  readonly altered: readonly string[];
  /** Null: it has no name, and is another one each time it is said. */
  readonly identity: Buffer | null;
}

export interface GivenBatch {
  readonly events: readonly GivenEvent[];
  readonly refused: readonly Refusal[];
}

export interface Preparation {
  readonly limits: EventLimits;
  readonly newArtifactId: () => string;
  readonly mask?: BatchMask;
}

const NOTHING: readonly string[] = [];
const NO_VALUES = Matcher.of([]);

/** Names what cannot be an event; everything else is kept. `alteredOf` are altered paths by the event's place in the batch. */
export function readBatch(
  events: readonly unknown[],
  alteredOf: (index: number) => readonly string[] | undefined,
): GivenBatch {
  const given: GivenEvent[] = [];
  const refused: Refusal[] = [];
  for (const [index, event] of events.entries()) {
    const read = readEvent(event, alteredOf(index));
    if (typeof read === 'string') refused.push({ index, code: read });
    else given.push(read);
  }
  return { events: given, refused };
}

/** An event that can be kept, or why it cannot. */
export function readEvent(event: unknown, altered: readonly string[] = NOTHING): GivenEvent | RefusalCode {
  const code = refusalOf(event, altered);
  if (code) return code;
  return { event: event as JsonObject, altered, identity: identityOf(event as JsonObject) };
}

/** Makes events ready to be stored: what is secret is masked, what does not fit is replaced. Leaves what was given as it is. */
export function prepareEvents(
  given: readonly GivenEvent[],
  { limits, newArtifactId, mask = new BatchMask(NO_VALUES) }: Preparation,
): ReadyEvent[] {
  const texts = given.map(({ event }) => {
    const text = smallText(event, limits);
    return mask.add(event, text).event === event ? text : undefined;
  });
  mask.settle((place) => smallText(mask.rawAt(place).event, limits) !== undefined);
  return given.map(({ altered, identity }, place) => {
    const { event, masked } = mask.eventAt(place);
    const waiting = mask.isWaiting(place) ? mask.rawAt(place) : undefined;
    const { tooDeep, ...ready } = readyEvent(event, texts[place] ?? smallText(event, limits), {
      limits,
      newArtifactId,
    });
    return { ...ready, identity, masked, waiting, altered: tooDeep.length > 0 ? [...altered, ...tooDeep] : altered };
  });
}

type Fields = 'type' | 'text' | 'truncated' | 'artifacts' | 'timestamp' | 'edge' | 'total' | 'output';

/** `small` is the event's JSON where it fits. Otherwise what does not fit is replaced, in a copy. */
function readyEvent(
  event: JsonObject,
  small: string | undefined,
  { limits, newArtifactId }: Pick<Preparation, 'limits' | 'newArtifactId'>,
): Pick<ReadyEvent, Fields> & { readonly tooDeep: readonly string[] } {
  const type = event['event_type'] as string;
  const edge = edgeOf(event);
  const total = type === 'token.created' ? runningTotal(event) : undefined;
  const whole = type === 'output.updated' ? JSON.stringify(event['payload']) : undefined;
  const copy = small === undefined ? copyOfFields(event) : event;
  const { text, artifacts, truncated, tooDeep } =
    small === undefined ? fitEvent(copy, limits, newArtifactId) : fitted(small);
  const timestamp = event['timestamp'] ?? undefined;
  const output = tooDeep.length > 0 && whole !== undefined ? JSON.stringify(copy['payload']) : whole;
  return { type: columnType(type), text, truncated, artifacts, timestamp, edge, total, output, tooDeep };
}

/** As deep as fitting changes anything. */
function copyOfFields(event: JsonObject): JsonObject {
  const isPlain = (value: unknown): value is JsonObject => isJsonObject(value) && !(value instanceof DeepJson);
  return Object.fromEntries(Object.entries(event).map(([key, value]) => [key, isPlain(value) ? { ...value } : value]));
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
  /** How many of them are stored now: the others take their numbers and wait. */
  readonly stored: number;
  /** Tool spans that begin here. */
  readonly toolCalls: number;
  /** One event a line: JSON has no line breaks of its own, so nothing need be quoted. An empty line is an event that waits. */
  readonly lines: string;
  readonly types: readonly string[];
  /** All identities in a row; null where the one event has none. */
  readonly identities: Buffer | null;
  /** `{place: {altered, truncated, masked}}` of the few events that have marks. */
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
  for (const [index, { edge, text, altered, truncated, masked, artifacts: own }] of events.entries()) {
    const place = index + 1;
    if (edge) spans.add(edge, place, Buffer.byteLength(text));
    if (altered.length > 0 || truncated.length > 0 || masked) marks[place] = { altered, truncated, masked };
    if (own.length > 0) artifacts.push(...own);
  }
  const changes = spans.list();
  const total = events.findLast((event) => event.total)?.total;
  return {
    count: events.length,
    stored: events.filter(({ waiting }) => !waiting).length,
    toolCalls: changes.filter(({ kind, start_place: start }) => kind === 'tool' && start !== null).length,
    lines: events.map(({ text, waiting }) => (waiting ? '' : text)).join('\n'),
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
