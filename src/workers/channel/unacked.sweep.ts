import { readFile } from 'node:fs/promises';
import { Inject, Injectable } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { Channels } from './channel.service.ts';
import { recordUnacked } from './channel.store.ts';
import type { WorkerChannel } from './channel.stream.ts';
import { connectionName, unacknowledgedIn } from './unacked.policy.ts';

/** So many looks within the time after which a worker counts as lost. */
const LOOKS = 8;
/** Whoever answered its last two pings needs no look. */
const SILENT_PINGS = 2;
const TABLES = ['/proc/self/net/tcp', '/proc/self/net/tcp6'];

/**
 * Asks the kernel whether the machines of silent workers acknowledge what was sent to them, and writes since when they do
 * not (worker-protocol.md A4c): a dead host says nothing, and a ping that is under way keeps TCP's own probes from finding
 * out. Only Linux shows it; behind an ingress it is the ingress that acknowledges.
 */
@Injectable()
export class UnackedSweep implements Sweep {
  readonly name = 'channels.unacked';
  readonly everyMs: number;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    this.everyMs = (config.unackedSeconds * 1_000) / LOOKS;
    if (process.platform === 'linux') sweeper.add(this);
  }

  async run(): Promise<SweepReport> {
    const now = this.clock.monotonicMs();
    const all = this.channels.all().filter(({ isRecorded }) => isRecorded);
    const silent = new Set(all.filter((channel) => this.isSilent(channel, now)));
    const unacked = silent.size > 0 ? await readUnacknowledged() : new Set<string>();
    const changed = all.filter((channel) => {
      if (silent.has(channel) && unacked.has(nameOf(channel))) channel.unackedAt ??= now;
      else channel.unackedAt = undefined;
      return wasSeenTwice(channel, now) !== channel.isUnackedRecorded; // at one look something may be just under way
    });
    if (changed.length === 0) return { unacked: 0, acked: 0 };
    await recordUnacked(this.database, changed, now);
    for (const channel of changed) channel.isUnackedRecorded = channel.unackedAt !== undefined;
    const count = changed.filter(({ isUnackedRecorded }) => isUnackedRecorded).length;
    return { unacked: count, acked: changed.length - count };
  }

  private isSilent({ pongAt, openedAt }: WorkerChannel, now: number): boolean {
    return now - Math.max(pongAt ?? 0, openedAt) > SILENT_PINGS * this.config.channelPingSeconds * 1_000;
  }
}

function wasSeenTwice({ unackedAt }: WorkerChannel, now: number): boolean {
  return unackedAt !== undefined && unackedAt < now;
}

function nameOf({ endpoints }: WorkerChannel): string {
  return (endpoints && connectionName(endpoints)) ?? '';
}

async function readUnacknowledged(): Promise<Set<string>> {
  const tables = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  return new Set(tables.flatMap((table) => [...unacknowledgedIn(table)]));
}
