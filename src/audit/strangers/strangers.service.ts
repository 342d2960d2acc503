import { Inject, Injectable, type BeforeApplicationShutdown } from '@nestjs/common';
import { Clock } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { SYSTEM_ACCOUNT } from '../../platform/operation/actor.ts';
import { auditCategory } from '../../platform/operation/areas.ts';
import type { StrangersAttempt } from '../../platform/operation/ports.ts';
import { Sweeper, type Sweep, type SweepReport } from '../../platform/sweep/sweep.ts';
import { entryRows, type Entry } from '../ledger/ledger.store.ts';
import { StrangerBound, type Excess } from './strangers.policy.ts';

const REFUSED = 'auth.refuse';
const SWEEP_MS = 5_000;
/** As much of a refused credential as lets its owner recognise it, and far too little to use it. */
const PREFIX_LENGTH = 8;
const BATCH = 500;
/** Rows that wait for the database; beyond them rows are lost, and the log says how many. */
const WAITING_MAX = 5_000;

/**
 * Refused mutations of callers that nobody knows, on record in the system's account. Rows are gathered and written in
 * the background: a stranger must not be able to make us wait, nor to fill the disk.
 */
@Injectable()
export class Strangers implements Sweep, BeforeApplicationShutdown {
  readonly name = 'audit.strangers';
  readonly everyMs = SWEEP_MS;
  private readonly log = new Log('audit');
  private readonly bound = new StrangerBound();
  private waiting: Entry[] = [];
  private writing: Promise<void> | undefined;

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Sweeper) sweeper: Sweeper,
  ) {
    sweeper.add(this);
  }

  record(attempted: StrangersAttempt): void {
    const { address } = attempted.presented;
    if (this.bound.admits(address, this.clock.monotonicMs())) this.write([this.entryOf(attempted)]);
  }

  /** Puts the counts of the minutes that are over on record. */
  async run(): Promise<SweepReport> {
    return { excess_rows: await this.writeExcess(this.clock.monotonicMs()) };
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.writeExcess(Number.POSITIVE_INFINITY);
  }

  private async writeExcess(endedBy: number): Promise<number> {
    const excess = this.bound.takeEnded(endedBy);
    this.write(excess.map((one) => this.excessEntry(one)));
    await this.writing;
    return excess.length;
  }

  private write(entries: readonly Entry[]): void {
    const room = WAITING_MAX - this.waiting.length;
    if (entries.length > room)
      this.log.warn('refusals of strangers are not on record', { count: entries.length - room });
    this.waiting.push(...entries.slice(0, room));
    if (this.waiting.length > 0) this.writing ??= this.writeWaiting().finally(() => (this.writing = undefined));
  }

  private async writeWaiting(): Promise<void> {
    while (this.waiting.length > 0) {
      const batch = this.waiting.splice(0, BATCH);
      try {
        await this.database.asAccount(SYSTEM_ACCOUNT, (transaction) => transaction.query(entryRows(batch)));
      } catch (error) {
        this.log.warn('refusals of strangers are not on record', { count: batch.length, error: describeError(error) });
      }
    }
  }

  private entryOf({ operation, area, presented, fault, requestId }: StrangersAttempt): Entry {
    const prefix = presented.bearer?.slice(0, PREFIX_LENGTH) ?? '';
    return {
      ...this.blankEntry(presented.address),
      category: auditCategory(area, REFUSED),
      operation,
      target: ['credential', prefix],
      requestId,
      detail: { code: fault.code, credential_prefix: prefix },
    };
  }

  private excessEntry({ address, count }: Excess): Entry {
    return { ...this.blankEntry(address), detail: { code: 'auth.too_many_rows', count } };
  }

  private blankEntry(address: string): Entry {
    return {
      id: newId('audit', this.clock.nowMs()),
      accountId: SYSTEM_ACCOUNT,
      category: auditCategory('identity', REFUSED),
      action: REFUSED,
      operation: '',
      outcome: 'refused',
      actorKind: 'anonymous',
      actorId: null,
      impersonatorId: null,
      target: ['credential', ''],
      requestId: '',
      address,
      detail: {},
    };
  }
}
