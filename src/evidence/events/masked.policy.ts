import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import {
  Masking,
  Splits,
  type Chunk,
  type KeptTail,
  type Masked,
  type Matcher,
  type Range,
} from '../../vault/index.ts';

/** An event that has its number and is not told yet: one of its texts ends in what may be the beginning of a value. */
export interface WaitingEvent {
  readonly seq: number;
  readonly at: string;
  readonly attempt: number;
  readonly type: string;
  readonly identity: string | null;
  readonly streamSeq: number | null;
  readonly altered: readonly string[];
  readonly masked: Masked;
  /** Masked, except for its texts that wait. */
  readonly event: JsonObject;
}

/** What is kept, sealed, of a run's texts until the next one comes. */
export interface Kept {
  readonly tails: readonly KeptTail[];
  readonly events: readonly WaitingEvent[];
  readonly texts: readonly { readonly event: number; readonly path: TextPath; readonly ranges: readonly Range[] }[];
}

type TextPath = readonly [field: 'content'] | readonly [field: 'payload', key: string];

/** A text of an event, as one of a stream of texts. */
export interface StreamedText extends Chunk {
  readonly path: TextPath;
  /** Whose it is: an event of this batch, by its place, or one that waited before. */
  readonly owner: number | WaitingEvent;
}

/** An event of a batch, masked as far as it can be alone. */
export interface Draft {
  readonly event: JsonObject;
  readonly masked: Masked | undefined;
  readonly texts: readonly StreamedText[];
}

/** An event with all that is known of it by now. */
export interface MaskedEvent {
  readonly event: JsonObject;
  readonly masked: Masked | undefined;
}

/** Texts that follow one another are looked for here: a span's are whole, and a partial output is said again whole. */
const WHOLE = /^(?:span\.|output\.updated$|token\.created$)/;
/** More than these do not wait. */
const MOST_WAITING = 256;
const WORTH_HOLDING = 4;

export const NOTHING_KEPT: Kept = { tails: [], events: [], texts: [] };

/** Masks the events of one batch, together with the texts before them. */
export class BatchMask {
  private readonly matcher: Matcher;
  private readonly before: Kept;
  private readonly isFollowing: boolean;
  private readonly probe: Masking;
  private readonly splits: Splits<StreamedText>;
  private readonly keptTexts: readonly StreamedText[];
  private readonly drafts: Draft[] = [];
  private waiting: Set<StreamedText> = new Set();

  /** Without `before` each event is looked at alone. */
  constructor(matcher: Matcher, before?: Kept) {
    this.matcher = matcher;
    this.isFollowing = before !== undefined;
    this.before = before ?? NOTHING_KEPT;
    this.probe = new Masking(matcher);
    this.keptTexts = this.before.texts.flatMap(({ event, path, ranges }) => {
      const owner = this.before.events[event];
      return owner ? { text: textAt(owner.event, path) ?? '', ranges, path, owner } : [];
    });
    this.splits = new Splits(matcher, this.before.tails, this.keptTexts);
  }

  /** The next event of the batch; `json` is its text where it is small. */
  add(event: JsonObject, json: string | undefined): Draft {
    const texts = this.streamedTexts(event, this.drafts.length);
    const isPartial = event['event_type'] === 'output.updated' && !this.matcher.isEmpty;
    const draft =
      texts.length === 0 && !isPartial && json !== undefined && this.probe.isClean(json)
        ? { event, masked: undefined, texts }
        : this.masked(event, texts, isPartial);
    for (const text of texts) this.splits.add(streamOf(event, text.path), text);
    this.drafts.push(draft);
    return draft;
  }

  /** All are there: says who of them waits. `isHoldable` is asked about events of this batch by their place. */
  settle(isHoldable: (place: number) => boolean): void {
    this.waiting = this.splits.waiting();
    const isFull = new Set([...this.waiting].map(({ owner }) => owner)).size > MOST_WAITING;
    for (const text of [...this.waiting]) {
      if (typeof text.owner !== 'number' || (!isFull && isHoldable(text.owner))) continue;
      this.splits.giveUp(text);
      this.waiting.delete(text);
    }
  }

  /** Nobody comes any more, or not in time: what waits is told as it is, and only remembered. */
  release(): void {
    this.waiting = new Set();
  }

  isWaiting(place: number): boolean {
    return this.waiting.size > 0 && [...this.waiting].some(({ owner }) => owner === place);
  }

  /** An event of the batch as it may be told: what of a text is undecided is left out. */
  eventAt(place: number): MaskedEvent {
    const { event, masked, texts } = this.drafts[place] ?? NO_DRAFT;
    return texts.length === 0
      ? { event, masked }
      : this.withTexts(
          event,
          masked,
          texts.map((text) => this.decided(text)),
        );
  }

  /** Its texts as they came, everything else masked: what is sealed. */
  rawAt(place: number): MaskedEvent {
    const { event, masked, texts } = this.drafts[place] ?? NO_DRAFT;
    return { event: texts.reduce((whole, { path, text }) => withText(whole, path, text), event), masked };
  }

  /** Those that waited before and need not any more. */
  released(): WaitingEvent[] {
    const still = new Set([...this.waiting].map(({ owner }) => owner));
    return this.before.events
      .filter((event) => !still.has(event))
      .map((waited) => {
        const texts = this.keptTexts.filter(({ owner }) => owner === waited);
        const { event, masked = {} } = this.withTexts(waited.event, waited.masked, texts);
        return { ...waited, event, masked };
      });
  }

  /** What is to be kept from now on. `waitingAt` makes an event of this batch one that waits. */
  kept(waitingAt: (place: number) => WaitingEvent): Kept {
    const owners = [...new Set([...this.waiting].map(({ owner }) => owner))];
    const events = owners.map((owner) => (typeof owner === 'number' ? waitingAt(owner) : owner));
    const waiting = [...this.keptTexts, ...this.drafts.flatMap(({ texts }) => texts)].filter(({ owner }) =>
      owners.includes(owner),
    );
    const texts = waiting.map(({ owner, path, ranges }) => ({ event: owners.indexOf(owner), path, ranges }));
    return { tails: this.splits.kept(waiting), events, texts };
  }

  /** Whether what is kept is another than before. */
  get hasChanged(): boolean {
    return JSON.stringify(this.kept(() => UNNUMBERED)) !== JSON.stringify(this.before);
  }

  private masked(event: JsonObject, texts: readonly StreamedText[], isPartial: boolean): Draft {
    const masking = new Masking(this.matcher);
    const without = texts.reduce((rest, { path }) => withText(rest, path, ''), event);
    const masked = masking.event(without);
    return { event: isPartial ? this.withoutOpenEnd(event, masked) : masked, masked: masking.masked, texts };
  }

  private withTexts(event: JsonObject, before: Masked | undefined, texts: readonly StreamedText[]): MaskedEvent {
    const masking = new Masking(this.matcher, before);
    const whole = texts.reduce(
      (rest, { path, text, ranges }) => withText(rest, path, masking.inRanges(text, ranges, path[0])),
      event,
    );
    return { event: whole, masked: masking.masked };
  }

  /** A partial output is said again whole: what of its end is undecided, the next one says, or the end of the run. */
  private withoutOpenEnd(event: JsonObject, masked: JsonObject): JsonObject {
    const path = ['payload', 'text'] as const;
    const [raw, text] = [textAt(event, path), textAt(masked, path)];
    if (raw === undefined || text === undefined) return masked;
    const { ranges, open } = this.matcher.scan(raw);
    const isDecided = open < WORTH_HOLDING || (ranges.at(-1)?.[1] ?? 0) > raw.length - open;
    return isDecided ? masked : withText(masked, path, text.slice(0, text.length - open));
  }

  private streamedTexts(event: JsonObject, place: number): StreamedText[] {
    if (!this.isFollowing || this.matcher.isEmpty || WHOLE.test(String(event['event_type']))) return [];
    const paths: TextPath[] = [['content']];
    if (isJsonObject(event['payload'])) for (const key of Object.keys(event['payload'])) paths.push(['payload', key]);
    return paths.flatMap((path) => {
      const text = textAt(event, path);
      if (
        text === undefined ||
        text === '' ||
        !this.probe.isClean(path[1] ?? '') ||
        this.splits.isAlone(text, () => streamOf(event, path))
      )
        return [];
      return [{ text, ranges: [], path, owner: place }];
    });
  }

  private decided(text: StreamedText): StreamedText {
    if (!this.waiting.has(text)) return text;
    const { open } = this.matcher.scan(text.text);
    return { ...text, text: text.text.slice(0, text.text.length - open), ranges: this.matcher.scan(text.text).ranges };
  }
}

const NO_DRAFT: Draft = { event: {}, masked: undefined, texts: [] };
const UNNUMBERED: WaitingEvent = {
  ...{ seq: 0, at: '', attempt: 0, type: '', identity: null, streamSeq: null, altered: [], masked: {}, event: {} },
};

/** Texts of one kind from one source follow one another: lines of a logger, messages of a role, what a span says. */
function streamOf(event: JsonObject, path: TextPath): string {
  return JSON.stringify([event['event_type'], event['logger'], event['role'], event['span_id'], path]);
}

function textAt(event: JsonObject, path: TextPath | readonly ['payload', 'text']): string | undefined {
  const [field, key] = path;
  const value = event[field];
  const text = key === undefined ? value : isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return typeof text === 'string' ? text : undefined;
}

/** Copies what it changes. */
function withText(event: JsonObject, [field, key]: TextPath, text: string): JsonObject {
  const value = event[field];
  return { ...event, [field]: key === undefined || !isJsonObject(value) ? text : { ...value, [key]: text } };
}
