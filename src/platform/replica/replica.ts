import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Clock } from '../clock/clock.ts';
import { Database } from '../db/database.ts';
import { newId } from '../ids/ids.ts';
import { Log, describeError } from '../log/log.ts';

/** A replica that has not touched its row for this long is dead to the others. */
export const REPLICA_ALIVE_SECONDS = 5;
const TOUCH_MS = 1_000;
const FORGET_AFTER_HOURS = 24;

/**
 * Touches the own row and counts the others that are alive, by the database's clock. Silence counts only while somebody
 * could hear: when nobody touched the row of hearing for a while (an outage, a start), and when a replica died with what
 * it had heard last, hearing begins anew.
 */
const TOUCH = `
  WITH touched AS (
    INSERT INTO replica (id, started_at, seen_at, key_ids) VALUES ($1, now(), now(), $4)
    ON CONFLICT (id) DO UPDATE SET seen_at = now(), is_mourned = false, key_ids = excluded.key_ids),
  alive AS (SELECT count(*)::int AS others FROM replica WHERE id <> $1 AND seen_at > now() - make_interval(secs => $2)),
  dead AS (
    UPDATE replica SET is_mourned = true WHERE id <> $1 AND NOT is_mourned AND seen_at < now() - make_interval(secs => $2) RETURNING id),
  hearing AS (
    UPDATE hearing SET seen_at = now(), since = CASE
      WHEN seen_at < now() - make_interval(secs => $2) OR EXISTS (SELECT FROM dead) OR ($3 AND (SELECT others FROM alive) = 0) THEN now()
      ELSE since END)
  SELECT others FROM alive`;
/** The others are alive for somewhat longer here: who is late may be back at once. */
const WITHOUT_KEY = `
  SELECT count(*)::int AS others FROM replica
   WHERE id <> $1 AND seen_at > now() - make_interval(secs => 2 * $2::float8) AND NOT key_ids @> ARRAY[$3::text]`;
const LEAVE = 'DELETE FROM replica WHERE id = $1 OR seen_at < now() - make_interval(hours => $2)';

/** This process among its equals: its id, its sign of life, and whether there are others. */
@Injectable()
export class Replica implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly id: string;
  private readonly log = new Log('replica');
  private others = 0;
  private hasStarted = false;
  private keyIds: readonly string[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly leaving = new AbortController();

  constructor(
    @Inject(Clock) clock: Clock,
    @Inject(Database) private readonly database: Database,
  ) {
    this.id = newId('replica', clock.nowMs());
  }

  /** True while no other replica was seen alive. A replica that starts is noticed within a second. */
  get isAlone(): boolean {
    return this.others === 0;
  }

  get isDraining(): boolean {
    return this.leaving.signal.aborted;
  }

  /** Aborted when the replica begins to leave: whoever waits answers with what there is. */
  get draining(): AbortSignal {
    return this.leaving.signal;
  }

  /** From now on this replica takes no new work. */
  drain(): void {
    this.leaving.abort();
  }

  /** Tells the others which keys this process can open values with, from its next sign of life on. */
  announceKeys(keyIds: readonly string[]): void {
    this.keyIds = [...keyIds];
  }

  /** How many other replicas live that do not know a key: what is sealed with it they could not open. */
  async othersWithoutKey(keyId: string): Promise<number> {
    const values = [this.id, REPLICA_ALIVE_SECONDS, keyId];
    const [row] = await this.database.acrossAccounts<{ others: number }>({ text: WITHOUT_KEY, values });
    return row?.others ?? 0;
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.touch();
    this.timer = setInterval(() => void this.touch(), TOUCH_MS).unref();
  }

  async onApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.database.acrossAccounts({ text: LEAVE, values: [this.id, FORGET_AFTER_HOURS] }).catch(() => {});
  }

  private async touch(): Promise<void> {
    try {
      const [row] = await this.database.acrossAccounts<{ others: number }>({
        text: TOUCH,
        values: [this.id, REPLICA_ALIVE_SECONDS, !this.hasStarted, this.keyIds],
      });
      this.hasStarted = true;
      this.others = row?.others ?? 0;
    } catch (error) {
      this.others = Math.max(this.others, 1); // unknown: rather send pokes that nobody hears
      this.log.debug('the replica row could not be touched', { error: describeError(error) });
    }
  }
}
