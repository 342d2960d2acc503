import { isOutage } from '../../platform/db/database-errors.ts';
import type { Clock } from '../../platform/clock/clock.ts';
import { END_NUMBERS, isTerminal, toSummary, type RunRow, type RunStatus } from '../../runs/index.ts';
import { findArtifact } from '../artifacts/artifacts.store.ts';
import { readLog, type LogRow, type Reading, type RunPlace } from '../events/log.store.ts';
import { dayOf } from '../events/view.policy.ts';
import {
  SpokenText,
  endEvents,
  endOf,
  isWanted,
  partialText,
  rowEvent,
  type StreamEvent,
} from './projection.policy.ts';
import { hasMore, textAt, type Seen } from './stream.store.ts';
import type { Voice } from './voice.stream.ts';

const ROWS_A_PAGE = 500;
const OUTAGE_PAUSE_MS = 1_000;

/** Where a reader begins and what it wants. */
export interface ReaderWish {
  readonly after: number;
  readonly types: ReadonlySet<string> | undefined;
  /** False: ends when it has read what there is. */
  readonly follow: boolean;
}

/** What a reader reads from. */
export interface Source {
  readonly accountId: string;
  readonly runId: string;
  readonly reading: Reading;
  readonly find: () => Promise<RunRow>;
  readonly clock: Clock;
}

/**
 * One reader of one run. Reads the rows after its number, tells them, waits to be rung, and reads again: replay and live
 * are the same loop, so there is no seam between them. It holds no connection and no transaction while it waits.
 */
export class RunReader {
  private readonly source: Source;
  private readonly wish: ReaderWish;
  private readonly out: Voice;
  private place: RunPlace | undefined;
  /** The run, if it had ended when the reader came. */
  private ended: RunRow | undefined;
  private spoken = new SpokenText();
  /** The last row that was read. */
  private seq: number;
  /** The last number that was told, or that the reader had when it came. */
  private told: number;
  private farewell: StreamEvent['event'] | undefined;
  private lastWord: object = {};
  private isRung = false;
  private wake: (() => void) | undefined;

  constructor(source: Source, wish: ReaderWish, out: Voice) {
    this.source = source;
    this.wish = wish;
    this.out = out;
    this.seq = wish.after;
    this.told = wish.after;
  }

  /** How far it has read, while it waits for more; undefined while it is busy. */
  get waitingAt(): Seen | undefined {
    return this.wake && this.place ? { ...this.place, seq: this.seq } : undefined;
  }

  /** There may be something new: look. */
  ring(): void {
    this.isRung = true;
    this.wake?.();
  }

  /** This replica goes away: the reader is to come back to another one, with the number it has. */
  move(): void {
    this.leave('moved');
  }

  /** Says why and ends. */
  refuse(code: string, detail: string): void {
    this.lastWord = { code, detail };
    this.leave('error');
  }

  keepAlive(): void {
    this.out.keepAlive();
  }

  /** Resolves when the stream is over. Survives outages of the database. */
  async run(): Promise<void> {
    for (;;) {
      try {
        await this.follow();
        return this.out.end();
      } catch (error) {
        if (!isOutage(error)) throw error;
        if (this.out.isOver) return;
        if (this.farewell) return this.sayFarewell();
        await this.source.clock.sleep(OUTAGE_PAUSE_MS);
      }
    }
  }

  private async follow(): Promise<void> {
    const place = this.place ?? (await this.begin());
    while (place && !this.out.isOver && !this.farewell) {
      this.isRung = false; // before reading: what comes from now on rings again
      const { rows, isCut } = await readLog(this.source.reading, place, this.seq, ROWS_A_PAGE);
      for (const row of rows) {
        if (row.is_status && isTerminal(row.event['status'] as RunStatus)) return this.finish(row);
        if (!(await this.tellRow(place, row)) || this.farewell) break;
      }
      if (isCut) continue;
      if (!(await this.isToCome(place))) return this.ended && this.finishWithout(this.ended);
      await this.untilRung();
    }
    if (this.farewell) await this.sayFarewell();
  }

  /** Whether there is anything to wait for; of a run that has ended that is what may not be told yet. */
  private async isToCome(place: RunPlace): Promise<boolean> {
    return this.ended ? hasMore(this.source.reading, place, this.seq) : this.wish.follow;
  }

  /** Undefined when everything was said before. */
  private async begin(): Promise<RunPlace | undefined> {
    const { accountId, runId, reading } = this.source;
    const run = await this.source.find();
    if (isTerminal(run.status) && this.told >= run.last_seq) {
      await this.tellDone(run, run.last_seq);
      return undefined;
    }
    if (isTerminal(run.status)) this.ended = run;
    const place = { accountId, runId, day: dayOf(run.created_at) };
    if (this.seq > 0) this.spoken = new SpokenText(await textAt(reading, place, this.seq));
    this.place = place;
    return place;
  }

  private async tellRow(place: RunPlace, row: LogRow): Promise<boolean> {
    const text = await this.wholeText(place, row);
    const isTold = await this.tell(rowEvent(this.source.runId, row, this.spoken, text));
    if (isTold) this.seq = row.seq;
    return isTold;
  }

  /** A partial text that became an artifact is told whole, like any other. */
  private async wholeText(place: RunPlace, row: LogRow): Promise<string | undefined> {
    const text = partialText(row);
    const mark = text === undefined ? undefined : row.truncated?.find(({ path }) => path === 'payload.text');
    if (!mark) return text;
    return (await findArtifact(this.source.reading, place, mark.artifact_id))?.content ?? text;
  }

  private async finish(last: LogRow): Promise<void> {
    const run = await this.source.find();
    for (const event of endEvents(this.source.runId, run, last, this.spoken)) if (!(await this.tell(event))) return;
    await this.tellDone(run, last.seq);
  }

  /** Its record is not kept any more (what only waits to be told is still there): only the run itself says how it ended. */
  private async finishWithout(run: RunRow): Promise<void> {
    const [from, to] = [this.told + 1, run.last_seq - END_NUMBERS];
    if (from <= to) await this.write({ id: to, event: 'gap', data: { from, to, reason: 'retention' } });
    await this.finish(endOf(run));
  }

  /** Repeats the last number, so that nobody misses it. */
  private async tellDone(run: RunRow, seq: number): Promise<void> {
    await this.write({ id: seq, event: 'done', data: toSummary(run) });
  }

  private async tell(event: StreamEvent): Promise<boolean> {
    if (event.id <= this.told) return true;
    const isTold = !isWanted(event, this.wish.types) || (await this.write(event));
    if (isTold) this.told = event.id;
    return isTold;
  }

  private write(event: StreamEvent): Promise<boolean> {
    return this.out.say(event);
  }

  private leave(farewell: 'moved' | 'error'): void {
    this.farewell ??= farewell;
    this.ring();
  }

  private async sayFarewell(): Promise<void> {
    const data = this.farewell === 'moved' ? { done: false, seq: this.told } : this.lastWord;
    await this.out.sayFarewell({ id: this.told, event: this.farewell ?? 'moved', data });
    this.out.end();
  }

  private async untilRung(): Promise<void> {
    if (!this.isRung) await new Promise<void>((resolve) => (this.wake = resolve));
    this.wake = undefined;
  }
}
