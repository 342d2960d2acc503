import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { KEEP_ALIVE_COMMENT } from '../../platform/http/live-stream.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { frameBytes, type WorkerChannel } from './channel.stream.ts';

/** A turn of the wheel is the time between two pings of a channel. */
const SPOKES = 10;
const TURNS_REMEMBERED = 12;

/**
 * Pings all channels from one timer. Each hangs on one of ten spokes, so that the pongs come spread over the turn; a spoke's
 * pings are one buffer, written to each channel on it. The ping is also the byte that keeps the connection open.
 */
@Injectable()
export class Pings implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly spokes: readonly Set<WorkerChannel>[] = Array.from({ length: SPOKES }, () => new Set());
  private readonly sentAt = new Map<number, number>();
  private tick = 0;
  private next = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    this.timer = setInterval(() => this.turn(), (this.config.channelPingSeconds * 1_000) / SPOKES).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  add(channel: WorkerChannel): void {
    this.next += 1;
    this.spokeAt(this.next).add(channel);
  }

  remove(channel: WorkerChannel): void {
    for (const spoke of this.spokes) if (spoke.delete(channel)) return;
  }

  /** How long a ping and its pong took; undefined for a ping of another replica, or of long ago. */
  roundTripMs(nonce: string): number | undefined {
    const dot = nonce.lastIndexOf('.');
    if (nonce.slice(0, dot) !== this.replica.id) return undefined;
    const sentAt = this.sentAt.get(Number(nonce.slice(dot + 1)));
    return sentAt === undefined ? undefined : this.clock.monotonicMs() - sentAt;
  }

  private turn(): void {
    this.tick += 1;
    this.sentAt.delete(this.tick - SPOKES * TURNS_REMEMBERED);
    const spoke = this.spokeAt(this.tick);
    if (spoke.size === 0) return;
    this.sentAt.set(this.tick, this.clock.monotonicMs());
    const payload = { nonce: `${this.replica.id}.${this.tick}`, sent_at: wireTime(this.clock.now()) };
    const frame = { id: newId('message', this.clock.nowMs()), type: 'ping', payload, needsReply: true };
    const ping = frameBytes(frame);
    for (const channel of spoke)
      channel.write(channel.hearsPings ? ping : KEEP_ALIVE_COMMENT, this.config.streamBacklogBytes);
  }

  private spokeAt(position: number): Set<WorkerChannel> {
    return this.spokes[position % SPOKES] ?? new Set();
  }
}
