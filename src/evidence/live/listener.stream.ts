import { serverSentEvent, type EventSink } from '../../platform/http/live-stream.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Outflow } from '../stream/outflow.stream.ts';
import { cursorText } from './cursor.policy.ts';

/** What is told of an object. */
export interface Change {
  readonly topic: string;
  readonly kind: 'changed' | 'removed' | 'appended' | 'reset';
  readonly id: string | null;
  readonly at: string;
  readonly view?: object;
}

interface Item {
  readonly event: string;
  readonly data: object;
  /** Up to when the reader has heard of its lists once it has this. */
  readonly at: Date;
  /** Of a run's event: its number. */
  readonly place?: { readonly run: string; readonly seq: number };
  readonly written?: (isWritten: boolean) => void;
}

/**
 * One reader of many things. What it is told goes out in the order in which it was said, one after the other, and each event
 * carries up to where the reader has heard of everything. It holds no connection and no transaction.
 */
export class Listener {
  readonly ctx: OpContext;
  readonly sink: EventSink;
  /** Lists that it hears of. */
  readonly lists = new Set<string>();
  private readonly out: Outflow;
  private readonly backlogBytes: number;
  private readonly runs: Map<string, number>;
  private heardAt: Date;
  private queue: Item[] = [];
  private queuedBytes = 0;
  private count = 0;
  private isPumping = false;
  private isLeaving = false;

  constructor(
    ctx: OpContext,
    { sink, out, backlogBytes }: { readonly sink: EventSink; readonly out: Outflow; readonly backlogBytes: number },
    heard: { readonly at: Date; readonly runs: ReadonlyMap<string, number> },
  ) {
    this.ctx = ctx;
    this.sink = sink;
    this.out = out;
    this.backlogBytes = backlogBytes;
    this.heardAt = heard.at;
    this.runs = new Map(heard.runs);
  }

  get isOver(): boolean {
    return this.isLeaving || this.out.isOver;
  }

  /** Says what changed in a list. A reader who is further behind than the limit is closed: it may come back with what it has. */
  tell(event: string, change: Change): void {
    this.push({ event, data: change, at: this.heardAt });
    if (this.queuedBytes > this.backlogBytes) this.sink.destroy();
  }

  /** Says something of a run; resolves when the reader has room for more. */
  say(change: Change, place: { readonly run: string; readonly seq: number }): Promise<boolean> {
    return new Promise((resolve) => {
      this.push({ event: 'run', data: { ...change, seq: place.seq }, at: this.heardAt, place, written: resolve });
    });
  }

  /** From here on its runs are counted: what it has of this one. */
  place(run: string, seq: number): void {
    this.runs.set(run, seq);
  }

  refuse(topic: string, code: string): void {
    this.push({ event: 'error', data: { topic, code }, at: this.heardAt });
  }

  /** Everything that was told is what its lists were at this moment. */
  advance(at: Date): void {
    if (at > this.heardAt) this.heardAt = at;
  }

  /** The last word; the stream ends after it. */
  leave(event: 'moved' | 'error', data: object): void {
    if (this.isOver) return;
    this.push({ event, data, at: this.heardAt, written: () => this.out.end() });
    this.isLeaving = true;
  }

  /** Carries the place in the stream, so that a reader to whom nothing happened for long comes back with a fresh one. */
  keepAlive(): void {
    if (this.queue.length === 0) this.out.keepAlive(`: keep-alive\nid: ${this.cursor(this.heardAt)}\n\n`);
  }

  private push(item: Item): void {
    if (this.isOver) return item.written?.(false);
    this.queue.push(item);
    if (!item.written) this.queuedBytes += sizeOf(item);
    if (!this.isPumping) void this.pump();
  }

  private async pump(): Promise<void> {
    this.isPumping = true;
    for (let item = this.queue.shift(); item; item = this.queue.shift()) {
      if (!item.written) this.queuedBytes -= sizeOf(item);
      if (item.place) this.runs.set(item.place.run, item.place.seq);
      const text = serverSentEvent(item.event, JSON.stringify(item.data), this.cursor(item.at));
      const isWritten = await this.out.write(text);
      item.written?.(isWritten);
    }
    this.isPumping = false;
  }

  private cursor(at: Date): string {
    this.count += 1;
    return cursorText({ at, runs: this.runs }, this.count);
  }
}

/** About as much as it takes to keep; exact only for text. */
function sizeOf({ data }: Item): number {
  const known = sizes.get(data) ?? JSON.stringify(data).length;
  sizes.set(data, known);
  return known;
}

/** One change is told to many readers and measured once. */
const sizes = new WeakMap<object, number>();
