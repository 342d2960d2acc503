import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';

const SWEEP_MS = 30_000;
/** How exact a last use is. Ten thousand quiet workers then cost 33 row updates a second, not 200. */
const EXACT_TO_MS = 5 * 60_000;
/** Uses that wait to be written, and uses that are remembered as written. */
const REMEMBERED_MAX = 50_000;

/** A worker token is the only credential of an agent, an API key that of everybody else. */
const TABLES = { agent: 'worker_token', other: 'api_key' } as const;
type Holder = keyof typeof TABLES;

const writeText = (table: string): string => `
  UPDATE ${table} SET last_used_at = now() - make_interval(secs => used.seconds_ago)
    FROM unnest($1::text[], $2::text[], $3::float8[]) AS used (account_id, id, seconds_ago)
   WHERE ${table}.account_id = used.account_id AND ${table}.id = used.id
     AND (last_used_at IS NULL OR last_used_at < now() - make_interval(secs => used.seconds_ago))`;

interface Use {
  readonly accountId: string;
  readonly credentialId: string;
  readonly holder: Holder;
  readonly atMs: number;
}

/** When each credential was last used: gathered in memory and written in batches, never during a request. */
@Injectable()
export class LastUse implements Sweep, BeforeApplicationShutdown {
  readonly name = 'identity.last_use';
  readonly everyMs = SWEEP_MS;
  private readonly log = new Log('identity');
  /** When each credential was last noted. */
  private readonly notedAt = new Map<string, number>();
  private waiting: Use[] = [];

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  note({ kind, accountId, credentialId }: Actor): void {
    const atMs = this.clock.monotonicMs();
    const noted = this.notedAt.get(credentialId);
    if ((noted !== undefined && atMs - noted < EXACT_TO_MS) || this.waiting.length >= REMEMBERED_MAX) return;
    if (this.notedAt.size >= REMEMBERED_MAX) this.notedAt.clear();
    this.notedAt.set(credentialId, atMs);
    this.waiting.push({ accountId, credentialId, holder: kind === 'agent' ? 'agent' : 'other', atMs });
  }

  async run(): Promise<SweepReport> {
    const uses = this.waiting;
    this.waiting = [];
    const nowMs = this.clock.monotonicMs();
    await this.write('agent', uses, nowMs);
    await this.write('other', uses, nowMs);
    return {};
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.run().catch((error: unknown) => {
      this.log.debug('last uses are not on record', { error: describeError(error) });
    });
  }

  private async write(holder: Holder, uses: readonly Use[], nowMs: number): Promise<void> {
    const mine = uses.filter((use) => use.holder === holder);
    if (mine.length === 0) return;
    const values = [
      mine.map(({ accountId }) => accountId),
      mine.map(({ credentialId }) => credentialId),
      mine.map(({ atMs }) => (nowMs - atMs) / 1_000),
    ];
    await this.database.asSystem('last uses', (system) => system.query({ text: writeText(TABLES[holder]), values }));
  }
}
