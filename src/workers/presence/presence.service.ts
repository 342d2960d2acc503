import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import type { PresenceRule, UnwrittenPresence } from '../../agents/index.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import { lossAheadOf, lossTermsIn, type LossRow } from '../fleet/loss.policy.ts';
import { Manners } from './manners.service.ts';
import { writeHeard, type Heard, type SignOfLife } from './presence.store.ts';

/** A worker token's bearer. */
export type Speaker = Pick<Actor, 'accountId' | 'id' | 'credentialId'>;

const FLUSH_MS = 2_000;
/** Windows count from what is written, so a shorter window needs to be written more often. */
const FLUSHES_A_WINDOW = 4;
const ROWS_A_STATEMENT = 2_000;
/** Of workers with several slots; beyond it everything is forgotten and learned again with the next signs of life. */
const SLOTS_REMEMBERED = 20_000;

/**
 * Signs of life, by whatever path. Ten thousand quiet workers say something every few seconds: so what was heard is kept
 * in the replica that heard it and written for all of them in one statement, every two seconds and before it is read.
 * A replica that dies takes two seconds of presence with it, which the workers' next words replace.
 */
@Injectable()
export class Presence implements UnwrittenPresence, PresenceRule, OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Log('presence');
  private unwritten = new Map<string, Heard>();
  private readonly slots = new Map<string, number>();
  private readonly claimed = new Set<(accountId: string, workerId: string) => void>();
  private writing: Promise<void> | undefined;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Manners) private readonly manners: Manners,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onApplicationBootstrap(): void {
    const { presenceWindowSeconds, claimWindowSeconds, heartbeatWindowSeconds } = this.config;
    const shortestWindow = Math.min(presenceWindowSeconds, claimWindowSeconds, heartbeatWindowSeconds) * 1_000;
    this.timer = setInterval(() => void this.flush(), Math.min(FLUSH_MS, shortestWindow / FLUSHES_A_WINDOW)).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.flush();
  }

  /** Notes that a worker was heard. Costs no statement. */
  heard(
    { accountId, id: agentId, credentialId: tokenId }: Speaker,
    workerId: string,
    path: SignOfLife,
    roundTripMs?: number,
  ): void {
    const at = this.clock.monotonicMs();
    const key = `${accountId}/${agentId}/${workerId}`;
    const known = this.unwritten.get(key);
    const heard = known ?? {
      ...{ accountId, workerId, agentId, tokenId, at, path },
      ...{ claimAt: undefined, pongAt: undefined, eventsAt: undefined, roundTripMs: undefined },
    };
    if (!known) this.unwritten.set(key, heard);
    heard.at = at;
    heard.path = path;
    if (path === 'claim') heard.claimAt = at;
    if (path === 'pong') heard.pongAt = at;
    if (path === 'events') heard.eventsAt = at;
    if (roundTripMs !== undefined) heard.roundTripMs = roundTripMs;
    if (path === 'claim') for (const listener of this.claimed) listener(accountId, workerId);
  }

  offlineAt(signs: LossRow, isRunning: boolean): Date {
    const terms = lossTermsIn(signs, this.config);
    const lostAt = lossAheadOf(terms.signs, isRunning ? 'running' : 'idle', terms.limits).at;
    const silentAt = new Date(signs.last_seen_at.getTime() + terms.limits.presenceWindowSeconds * 1_000);
    return lostAt < silentAt ? lostAt : silentAt;
  }

  /** Calls `listener` when a worker asks this replica for work. */
  onClaim(listener: (accountId: string, workerId: string) => void): void {
    this.claimed.add(listener);
  }

  /** How many runs a worker takes at once, as far as this replica has learned: one, until it has heard of more. */
  slotsOf(accountId: string, workerId: string): number {
    return this.slots.get(accountKey(accountId, workerId)) ?? 1;
  }

  /** What a registration said about slots. */
  noteSlots(accountId: string, workerId: string, slots: number): void {
    const key = accountKey(accountId, workerId);
    if (this.slots.size >= SLOTS_REMEMBERED) this.slots.clear();
    if (slots > 1) this.slots.set(key, slots);
    else this.slots.delete(key);
  }

  /** Resolves when what was heard before the call is in the rows, or could not be written and is kept. Never rejects. */
  async flush(): Promise<void> {
    await this.writing; // it may have begun before the last thing was heard
    if (this.unwritten.size === 0) return;
    this.writing ??= this.write().finally(() => (this.writing = undefined));
    await this.writing;
  }

  private async write(): Promise<void> {
    const heard = this.unwritten;
    this.unwritten = new Map();
    try {
      for (const batch of batchesOf([...heard.values()])) {
        const isAsked = ({ accountId, workerId }: Heard): boolean => !this.manners.isKnown(accountId, workerId);
        for (const row of await writeHeard(this.database, batch, { now: this.clock.monotonicMs(), isAsked })) {
          this.noteSlots(row.account_id, row.id, row.max_concurrent);
          if (row.dialect) this.manners.note(row.account_id, row.id, row.dialect);
        }
      }
    } catch (error) {
      this.log.warn('presence could not be written; it is kept', { workers: heard.size, error: describeError(error) });
      this.keep(heard);
    }
  }

  private keep(heard: ReadonlyMap<string, Heard>): void {
    for (const [key, older] of heard) {
      const newer = this.unwritten.get(key);
      if (!newer) this.unwritten.set(key, older);
      else {
        newer.claimAt ??= older.claimAt;
        newer.pongAt ??= older.pongAt;
        newer.eventsAt ??= older.eventsAt;
        newer.roundTripMs ??= older.roundTripMs;
      }
    }
  }
}

/**
 * In one order, so that two replicas do not wait for each other's rows, and with each worker id at most once a batch: two
 * agents may both speak under it, and one statement cannot touch a row twice.
 */
function batchesOf(heard: Heard[]): Heard[][] {
  heard.sort((a, b) => compare(a.accountId, b.accountId) || compare(a.workerId, b.workerId));
  const batches: Heard[][] = [[]];
  const again: Heard[] = [];
  let last: Heard | undefined;
  for (const one of heard) {
    if (last && last.accountId === one.accountId && last.workerId === one.workerId) {
      again.push(one);
      continue;
    }
    last = one;
    if (batches.at(-1)?.length === ROWS_A_STATEMENT) batches.push([]);
    batches.at(-1)?.push(one);
  }
  return again.length === 0 ? batches : [...batches, ...batchesOf(again)];
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
