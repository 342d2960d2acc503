import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { acknowledge, countBehind, leaveWatch, raiseVersion } from './watch.store.ts';

const LOOK_MS = 1_000;
/** How long a look vouches for the caches. Whoever takes something away waits no longer than this for the others. */
const CURRENT_MS = 2_000;
const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/**
 * Keeps every replica's caches of credentials and grants true. Whatever takes something away raises one version in its
 * own transaction. Each replica looks at the version every second, and at once when it is poked, empties its caches and
 * acknowledges. A replica whose last look is two seconds old believes its caches no longer, so after two seconds nobody
 * can be wrong, whatever became of pokes, processes or networks.
 */
@Injectable()
export class CredentialWatch implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Log('identity');
  private readonly listeners = new Set<() => void>();
  /** Up to which version the caches of this process were emptied. */
  private version = 0n;
  private currentUntilMs = Number.NEGATIVE_INFINITY;
  private looking: Promise<void> | undefined;
  private lookAgain = false;
  private isFailing = false;
  private timer: NodeJS.Timeout | undefined;
  private readonly ended = new AbortController();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    bus.on('credentials.changed', () => void this.look());
    bus.onGap(() => void this.look());
  }

  /** Whether what was remembered since the last eviction may be believed. */
  isCurrent(): boolean {
    return this.clock.monotonicMs() < this.currentUntilMs;
  }

  /** `listener` empties a cache, or looks again at what it lets through. It must not wait for anything. */
  onChange(listener: () => void): void {
    this.listeners.add(listener);
  }

  /**
   * To be called, last, in the transaction of anything that takes something away from a credential or a principal.
   * After the commit the caches of this replica are empty and the others are told.
   * @returns what `settled` waits for.
   */
  async change(ctx: Pick<OpContext, 'sql' | 'afterCommit'>): Promise<bigint> {
    const version = await raiseVersion(ctx);
    ctx.afterCommit(() => {
      this.evictUpTo(version);
      this.bus.poke('credentials.changed', '');
    });
    return version;
  }

  /** Resolves when no replica believes in anything older than `version` any more: in two seconds at the latest. */
  async settled(version: bigint): Promise<void> {
    const over = new AbortController();
    await Promise.race([this.clock.sleep(CURRENT_MS, over.signal), this.acknowledgedByAll(version, over.signal)]);
    over.abort();
  }

  async onApplicationBootstrap(): Promise<void> {
    this.timer = setInterval(() => void this.look(), LOOK_MS).unref();
    await this.look();
  }

  async onApplicationShutdown(): Promise<void> {
    this.ended.abort();
    clearInterval(this.timer);
    this.currentUntilMs = Number.NEGATIVE_INFINITY; // nobody waits for this replica from here on
    await leaveWatch(this.database, this.replica.id).catch(() => {});
  }

  /** One look at a time; a wish that comes meanwhile is fulfilled after it. */
  private look(): Promise<void> {
    this.lookAgain = this.looking !== undefined;
    this.looking ??= this.lookUntilQuiet().finally(() => (this.looking = undefined));
    return this.looking;
  }

  private async lookUntilQuiet(): Promise<void> {
    do {
      this.lookAgain = false;
      try {
        await this.catchUp();
        this.isFailing = false;
      } catch (error) {
        if (!this.isFailing) this.log.warn('credentials are not remembered for now', { error: describeError(error) });
        this.isFailing = true;
      }
    } while (this.lookAgain && !this.ended.signal.aborted);
  }

  /** Empties the caches before it acknowledges, never the other way round. */
  private async catchUp(): Promise<void> {
    for (;;) {
      if (this.ended.signal.aborted) return;
      const startedAtMs = this.clock.monotonicMs();
      const acknowledged = this.version;
      const inForce = await acknowledge(this.database, this.replica.id, acknowledged);
      if (this.ended.signal.aborted) return;
      this.evictUpTo(inForce);
      this.currentUntilMs = startedAtMs + CURRENT_MS;
      if (inForce <= acknowledged) return;
    }
  }

  private evictUpTo(version: bigint): void {
    if (version <= this.version) return;
    const until = this.currentUntilMs;
    this.currentUntilMs = Number.NEGATIVE_INFINITY; // if a listener fails, nothing is believed or acknowledged
    for (const listener of this.listeners) listener();
    this.version = version;
    this.currentUntilMs = until;
  }

  private async acknowledgedByAll(version: bigint, over: AbortSignal): Promise<void> {
    for (let pause = FIRST_PAUSE_MS; !over.aborted; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      const behind = await countBehind(this.database, this.replica.id, version, CURRENT_MS / 1_000).catch(() => 1);
      if (behind === 0) return;
      await this.clock.sleep(pause, over);
    }
  }
}
