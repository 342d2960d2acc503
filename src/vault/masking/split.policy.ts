import type { Matcher, Range, Scan } from './matcher.policy.ts';

/** A text that came in one of the run's streams of texts, and what of it was found to be masked so far. */
export interface Chunk {
  readonly text: string;
  ranges: readonly Range[];
}

/** A piece of the undecided end of a stream; without its chunk when that was told already. */
interface Part<Of extends Chunk> {
  readonly chunk: Of | undefined;
  /** Where in the chunk's text the piece begins. */
  readonly start: number;
  readonly length: number;
}

/** The end of a stream of texts, as far as it may be the beginning of a value. */
interface Tail<Of extends Chunk> {
  readonly text: string;
  readonly parts: readonly Part<Of>[];
}

/** A tail as it is kept: its chunks by their place among those that wait. */
export interface KeptTail {
  readonly stream: string;
  readonly text: string;
  readonly parts: readonly { readonly chunk: number | null; readonly start: number; readonly length: number }[];
}

/** Shorter beginnings of a value tell nothing: they are told at once, and only remembered. */
const WORTH_HOLDING = 4;
/**
 * One character at the end of a longer text is nearly always the beginning of nothing, and is not remembered: without it a
 * value is found as well. Where texts are this short they may be characters of one.
 */
const SHORT_TEXT = 16;
/** More streams, or more chunks of one, are not followed: what would have to wait is masked instead. */
const MOST_STREAMS = 64;
const MOST_PARTS = 1_024;

/**
 * Finds values that were split over texts that follow one another: of each stream it keeps the end that may be the beginning
 * of a value, and looks through it again together with what comes next.
 */
export class Splits<Of extends Chunk> {
  private readonly matcher: Matcher;
  private readonly tails: Map<string, Tail<Of>>;

  constructor(matcher: Matcher, kept: readonly KeptTail[] = [], chunks: readonly Of[] = []) {
    this.matcher = matcher;
    this.tails = new Map(
      kept.map(({ stream, text, parts }) => [
        stream,
        {
          text,
          parts: parts.map((part) => ({ ...part, chunk: part.chunk === null ? undefined : chunks[part.chunk] })),
        },
      ]),
    );
  }

  /** Whether a text is as good as alone: nothing before it waits for it, and its end waits for nothing. */
  isAlone(text: string, streamOf: () => string): boolean {
    return (this.tails.size === 0 || !this.tails.has(streamOf())) && openOf(this.matcher.scan(text), text) === 0;
  }

  /** Adds a stream's next text, and marks what is to be masked in it and in those before. */
  add(stream: string, chunk: Of): void {
    const tail = this.tails.get(stream);
    const before = tail?.text ?? '';
    const scan = this.matcher.scan(before + chunk.text);
    const { ranges } = scan;
    const open = openOf(scan, chunk.text);
    for (const part of placed(tail?.parts ?? [])) if (part.chunk) mark(part.chunk, ranges, part);
    mark(chunk, ranges, { at: before.length, start: 0, length: chunk.text.length });
    this.tails.delete(stream); // what changed last stands last
    if (open === 0) return;
    const parts = [...(tail?.parts ?? []), { chunk, start: 0, length: chunk.text.length }];
    this.tails.set(stream, { text: (before + chunk.text).slice(-open), parts: lastOf(parts, open) });
    this.bound(stream);
  }

  /** The chunks that cannot be told yet. */
  waiting(): Set<Of> {
    const chunks = new Set<Of>();
    for (const { text, parts } of this.tails.values())
      if (text.length >= WORTH_HOLDING) for (const { chunk } of parts) if (chunk) chunks.add(chunk);
    return chunks;
  }

  /** This chunk cannot wait: what of it is undecided is masked. */
  giveUp(chunk: Of): void {
    for (const { text, parts } of this.tails.values()) {
      if (text.length < WORTH_HOLDING) continue;
      for (const part of parts)
        if (part.chunk === chunk) chunk.ranges = joined([...chunk.ranges, [part.start, part.start + part.length]]);
    }
  }

  /** What is to be kept until the next text comes; `chunks` are those that wait. */
  kept(chunks: readonly Of[]): KeptTail[] {
    return [...this.tails].map(([stream, { text, parts }]) => ({
      stream,
      text,
      parts: parts.map(({ chunk, start, length }) => {
        const place = chunk ? chunks.indexOf(chunk) : -1;
        return { chunk: place === -1 ? null : place, start, length };
      }),
    }));
  }

  private bound(stream: string): void {
    const grown = this.tails.get(stream);
    const oldest = this.tails.size > MOST_STREAMS ? this.tails.keys().next().value : undefined;
    const excess = grown && grown.parts.length > MOST_PARTS ? stream : oldest;
    if (excess === undefined) return;
    for (const { chunk } of this.tails.get(excess)?.parts ?? []) if (chunk) this.giveUp(chunk);
    this.tails.delete(excess);
  }
}

function openOf({ open }: Scan, text: string): number {
  return open === 1 && text.length > SHORT_TEXT ? 0 : open;
}

interface Place {
  /** Where in the joined text a piece begins. */
  readonly at: number;
  readonly start: number;
  readonly length: number;
}

function placed<Of extends Chunk>(parts: readonly Part<Of>[]): (Part<Of> & Place)[] {
  let at = 0;
  return parts.map((part) => {
    const place = { ...part, at };
    at += part.length;
    return place;
  });
}

/** Adds to a chunk what of the joined text's ranges lies in its piece. */
function mark(chunk: Chunk, ranges: readonly Range[], { at, start, length }: Place): void {
  const own = ranges.flatMap(([from, to]): Range[] => {
    const [first, last] = [Math.max(from, at), Math.min(to, at + length)];
    return first < last ? [[first - at + start, last - at + start]] : [];
  });
  if (own.length > 0) chunk.ranges = joined([...chunk.ranges, ...own]);
}

function lastOf<Of extends Chunk>(parts: readonly Part<Of>[], length: number): Part<Of>[] {
  const last: Part<Of>[] = [];
  let left = length;
  for (const part of parts.toReversed()) {
    if (left === 0) break;
    const taken = Math.min(left, part.length);
    if (taken > 0) last.unshift({ ...part, start: part.start + part.length - taken, length: taken });
    left -= taken;
  }
  return last;
}

/** In order, and where they touch, as one. */
function joined(ranges: readonly Range[]): Range[] {
  const result: Range[] = [];
  for (const [start, end] of [...ranges].sort((one, other) => one[0] - other[0])) {
    const last = result.at(-1);
    if (last && start <= last[1]) result[result.length - 1] = [last[0], Math.max(last[1], end)];
    else result.push([start, end]);
  }
  return result;
}
