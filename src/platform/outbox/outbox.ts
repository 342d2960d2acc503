import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../bus/bus.ts';
import { Database } from '../db/database.ts';
import type { Statement } from '../db/transaction.ts';
import { Log, describeError } from '../log/log.ts';
import type { Fact } from '../operation/ports.ts';
import { Sweeper, type Sweep, type SweepReport } from '../sweep/sweep.ts';

/** A fact on its way to those who asked to be told. */
export interface DeliveredFact {
  readonly accountId: string;
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Must be idempotent and re-read state: a fact comes at least once. What it throws brings the fact back later. */
export type Subscriber = (fact: DeliveredFact) => Promise<void>;

const INSERT_FACTS = `
  INSERT INTO outbox_message (account_id, topic, payload)
  SELECT $1, fact ->> 'topic', fact -> 'payload' FROM jsonb_array_elements($2::jsonb) AS fact`;

/** The rows that tell facts; they travel with the COMMIT of the transaction that makes them true. */
export function factRows(accountId: string, facts: readonly Fact[]): Statement[] {
  return facts.length === 0 ? [] : [{ text: INSERT_FACTS, values: [accountId, JSON.stringify(facts)] }];
}

const BATCH = 100;
/** Takes a batch that nobody else holds and that is due. Each failure doubles the wait, up to five minutes. */
const TAKE = `
  UPDATE outbox_message SET attempts = attempts + 1, due_at = now() + make_interval(secs => least(300, power(2, attempts)))
   WHERE (account_id, id) IN (
     SELECT account_id, id FROM outbox_message WHERE due_at <= now() ORDER BY due_at, id LIMIT ${BATCH} FOR UPDATE SKIP LOCKED)
  RETURNING account_id AS "accountId", id, topic, payload`;
const FORGET = 'DELETE FROM outbox_message WHERE account_id = $1 AND id = $2';

interface OutboxRow extends DeliveredFact {
  readonly id: string;
}

/** Delivers facts from their rows to the subscribers of this program, at least once. */
@Injectable()
export class Outbox implements Sweep {
  readonly name = 'outbox.deliver';
  readonly everyMs = 1_000;
  private readonly log = new Log('outbox');
  private readonly subscribers = new Map<string, Subscriber[]>();

  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Sweeper) sweeper: Sweeper,
    @Inject(Bus) bus: Bus,
  ) {
    sweeper.add(this);
    bus.on('outbox.filled', () => void sweeper.now(this.name));
  }

  subscribe(topic: string, subscriber: Subscriber): void {
    this.subscribers.set(topic, [...(this.subscribers.get(topic) ?? []), subscriber]);
  }

  /** The topics that somebody listens to: for the generated reference. */
  topics(): readonly string[] {
    return [...this.subscribers.keys()].sort();
  }

  async run(): Promise<SweepReport> {
    let delivered = 0;
    let failed = 0;
    for (;;) {
      const facts = await this.database.asSystem('deliver facts', (system) =>
        system.query<OutboxRow>({ text: TAKE, values: [] }),
      );
      for (const fact of facts) {
        if (await this.deliver(fact)) delivered += 1;
        else failed += 1;
      }
      if (facts.length < BATCH) return { delivered, failed };
    }
  }

  private async deliver(fact: OutboxRow): Promise<boolean> {
    try {
      for (const subscriber of this.subscribers.get(fact.topic) ?? []) await subscriber(fact);
      const values = [fact.accountId, fact.id];
      await this.database.asSystem('forget a fact', (system) => system.query({ text: FORGET, values }));
      return true;
    } catch (error) {
      this.log.warn('a fact was not taken; it comes again', {
        topic: fact.topic,
        id: fact.id,
        error: describeError(error),
      });
      return false;
    }
  }
}
