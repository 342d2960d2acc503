import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { recordClosed, recordOpened, type OpenedChannel } from './channel.store.ts';
import type { WorkerChannel } from './channel.stream.ts';

/** After a quiet time a round begins so soon: a doorbell may hang on it. */
const GATHER_MS = 5;
/** Rounds are so far apart, so that a crowd does not take the database from everybody else. */
const ROUND_MS = 50;
const ROWS_A_ROUND = 500;
const FOLLOWED_A_ROUND = 25;
const RETRY_MS = 1_000;

/** What happens to a channel once its row was asked. */
export interface RecordedHandlers {
  /** The row says that it is the worker's channel. Called at a pace that the database can follow. */
  readonly won: (channel: WorkerChannel) => void;
  /** A newer channel is open elsewhere, or the worker id belongs to another agent. */
  readonly lost: (channel: WorkerChannel) => void;
  /** A round of openings was recorded. */
  readonly round: () => void;
}

/**
 * Writes who has a channel where. Opening does not wait for it: a crowd that comes back after a restart is accepted at
 * once, and its rows and doorbells follow at a pace.
 */
@Injectable()
export class ChannelRecords {
  private readonly log = new Log('channels');
  private readonly opened = new Map<string, WorkerChannel>();
  private closed: WorkerChannel[] = [];
  private readonly toFollow: WorkerChannel[] = [];
  private handlers: RecordedHandlers | undefined;
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private lastRoundAt = Number.NEGATIVE_INFINITY;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  handleWith(handlers: RecordedHandlers): void {
    this.handlers = handlers;
  }

  noteOpened(channel: WorkerChannel): void {
    this.opened.set(channel.key, channel);
    this.soon();
  }

  noteClosed(channel: WorkerChannel): void {
    this.closed.push(channel);
    this.soon();
  }

  /** Writes what is left, at the end of the process. */
  async finish(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.running;
    await this.round();
  }

  private soon(): void {
    if (this.running) return;
    const sinceLast = this.clock.monotonicMs() - this.lastRoundAt;
    this.timer ??= setTimeout(() => this.begin(), Math.max(GATHER_MS, ROUND_MS - sinceLast)).unref();
  }

  private begin(): void {
    this.timer = undefined;
    this.running = this.round().finally(() => {
      this.running = undefined;
      this.lastRoundAt = this.clock.monotonicMs();
      if (this.opened.size > 0 || this.closed.length > 0 || this.toFollow.length > 0) this.soon();
    });
  }

  private async round(): Promise<void> {
    try {
      await this.recordSomeOpened();
      await this.recordSomeClosed();
    } catch (error) {
      this.log.warn('channels could not be recorded; they are kept', { error: describeError(error) });
      await this.clock.sleep(RETRY_MS);
    }
    for (const channel of this.toFollow.splice(0, FOLLOWED_A_ROUND)) if (!channel.closedBy) this.handlers?.won(channel);
  }

  private async recordSomeOpened(): Promise<void> {
    const channels = [...this.opened.values()].slice(0, ROWS_A_ROUND).sort(byKey);
    if (channels.length === 0) return;
    const won = await recordOpened(this.database, this.replica.id, channels, this.clock.monotonicMs());
    for (const channel of channels) {
      if (this.opened.get(channel.key) === channel) this.opened.delete(channel.key);
      const row = won.get(channel.nonce);
      channel.isRecorded = row !== undefined;
      if (row) this.follow(channel, row);
      else this.handlers?.lost(channel);
    }
    this.handlers?.round();
  }

  private follow(channel: WorkerChannel, { mode, dialect, has_orders }: OpenedChannel): void {
    channel.mode = mode;
    channel.dialect = dialect;
    channel.hasOrders = has_orders;
    this.toFollow.push(channel);
  }

  private async recordSomeClosed(): Promise<void> {
    const channels = this.closed.slice(0, ROWS_A_ROUND).sort(byKey);
    if (channels.length === 0) return;
    const waiting = channels.filter((channel) => this.opened.get(channel.key) === channel); // its opening comes first
    const ready = channels.filter((channel) => !waiting.includes(channel));
    if (ready.length > 0) await recordClosed(this.database, ready, this.clock.monotonicMs());
    this.closed = [...waiting, ...this.closed.slice(channels.length)];
  }
}

/** In one order, so that replicas do not wait for each other's rows. */
function byKey(a: WorkerChannel, b: WorkerChannel): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}
