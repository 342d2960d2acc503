import type { Clock } from '../../platform/clock/clock.ts';
import { KEEP_ALIVE_COMMENT, type EventSink } from '../../platform/http/live-stream.ts';

/** A reader that takes nothing for so long while it is behind is cut off. */
const STALLED_MS = 5_000;
const FIRST_LOOK_MS = 5;
const LONGEST_LOOK_MS = 100;
/** A large event goes out in pieces, so that what waits in this process stays near the limit whatever its size. */
const PIECE_BYTES = 64 * 1024;

/**
 * Writes to one reader at the reader's pace. Up to the limit everything goes out at once; a reader that is further behind
 * is waited for, and nothing more is read for it meanwhile. One that takes nothing at all is closed and may resume.
 */
export class Outflow {
  private readonly sink: EventSink;
  private readonly clock: Clock;
  private readonly backlogBytes: number;
  private isWriting = false;

  constructor(sink: EventSink, clock: Clock, backlogBytes: number) {
    this.sink = sink;
    this.clock = clock;
    this.backlogBytes = backlogBytes;
  }

  /** The connection is over, whoever ended it. One that broke before we had it never says so. */
  get isOver(): boolean {
    const { signal, socket } = this.sink;
    return signal.aborted || !socket || socket.destroyed;
  }

  /** One event after the other. False: the reader is gone, or was cut off. */
  async write(text: string): Promise<boolean> {
    this.isWriting = true;
    try {
      return await (text.length <= PIECE_BYTES ? this.pass(text) : this.passInPieces(Buffer.from(text)));
    } finally {
      this.isWriting = false;
    }
  }

  end(): void {
    this.sink.end();
  }

  /** Only between events, and only where nothing waits: a reader that is behind needs no sign of life. */
  keepAlive(comment: string | Buffer = KEEP_ALIVE_COMMENT): void {
    if (!this.isWriting && !this.isOver && this.sink.pendingBytes === 0) this.sink.write(comment);
  }

  private async passInPieces(bytes: Buffer): Promise<boolean> {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      if (!(await this.pass(bytes.subarray(at, at + PIECE_BYTES)))) return false;
    }
    return true;
  }

  private async pass(chunk: string | Buffer): Promise<boolean> {
    if (this.sink.pendingBytes > this.backlogBytes && !(await this.room())) return false;
    if (this.isOver) return false;
    this.sink.write(chunk);
    return true;
  }

  /** Waits until the reader is less than the limit behind. */
  private async room(): Promise<boolean> {
    let pending = this.sink.pendingBytes;
    let movedAt = this.clock.monotonicMs();
    for (let pause = FIRST_LOOK_MS; pending > this.backlogBytes; pause = Math.min(2 * pause, LONGEST_LOOK_MS)) {
      if (this.isOver) return false;
      await this.clock.sleep(pause, this.sink.signal);
      const left = this.sink.pendingBytes;
      const now = this.clock.monotonicMs();
      if (left < pending) movedAt = now;
      else if (now - movedAt > STALLED_MS) {
        this.sink.destroy();
        return false;
      }
      pending = left;
    }
    return true;
  }
}
