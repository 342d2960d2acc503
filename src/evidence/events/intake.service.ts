import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { OutcomeUnknown } from '../../platform/db/transaction.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invalid, invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { alteredByItem, alteredUnder, type JsonObject } from '../../platform/json/json.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunNotFound, factsOfHolder, toMessage, type Lateness, whyLate } from '../../runs/index.ts';
import { Presence } from '../../workers/index.ts';
import { keepSumOfSpans } from '../usage/usage.store.ts';
import { appendBatch, type Appended, type Sender } from './append.store.ts';
import {
  columnsOf,
  identityOf,
  prepareBatch,
  prepareEvent,
  type ReadyBatch,
  type ReadyEvent,
  type Refusal,
} from './batch.policy.ts';
import { countKinds } from './counts.policy.ts';
import type { addMessage, ingestEvents, takeEvents } from './events.contract.ts';
import { RunStaleAttempt, RunTerminal, TooManyEvents } from './events.faults.ts';
import { keepLateEvents } from './late.store.ts';
import { eventByIdentity } from './log.store.ts';
import { Merging } from './merging.service.ts';
import { Patience } from './patience.service.ts';
import { tallyOf } from './tally.policy.ts';
import { keepTally } from './tally.store.ts';

const MOST_EVENTS = 1_000;
/** Between two looks the run may have changed hands; more often than this in a row it does not. */
const LOOKS = 3;

type Kind = 'event' | 'message';
interface KindOfBatch {
  readonly kind: Kind;
  readonly events: readonly ReadyEvent[];
  readonly refused: readonly Refusal[];
  /** Events of the batch that were known, and are not in `events`. */
  readonly duplicates: number;
}

/** What became of the events of a batch. */
interface Taken {
  readonly appended: Appended | undefined;
  readonly duplicates: number;
  readonly late: Lateness | undefined;
}

/** One of the events was there already: undoes what the statement did. */
class Repeated extends Error {
  readonly undone: Appended;
  /** The places of those that were not. */
  readonly fresh: readonly number[];

  constructor(undone: Appended, fresh: readonly number[]) {
    super('some of these events are known');
    this.undone = undone;
    this.fresh = fresh;
  }
}

/**
 * Takes what workers say about their runs. A batch is one statement, alone in its transaction or beside others of its account, and
 * is answered after the commit. It is never refused for one of its events; a batch of somebody else than the run's holder changes nothing and is
 * kept as late evidence.
 */
@Injectable()
export class EventIntake {
  constructor(
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Patience) private readonly patience: Patience,
    @Inject(Merging) private readonly merging: Merging,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** The frame `run_events`. The worker sends a batch once and never again, so it is kept through an outage of the database. */
  async take(ctx: OpContext, { worker_id: workerId, events, attempt }: In<typeof takeEvents>): Promise<void> {
    const runId = ctx.frame?.stream;
    if (runId === undefined || runId === '') throw invalid(['body', 'stream'], 'must name the run');
    const sender = {
      ...this.senderOf(ctx, runId, workerId),
      attempt: attempt ?? null,
      streamSeq: ctx.frame?.seq ?? null,
    };
    const batch = this.prepare(ctx, events);
    let isUncertain = false;
    await this.patience.throughOutage(sizeOf(batch.events), async () => {
      try {
        await this.keep(ctx, sender, batch, { isUncertain });
      } catch (error) {
        isUncertain ||= error instanceof OutcomeUnknown;
        throw error;
      }
    });
  }

  async ingest(
    ctx: OpContext,
    { run_id: runId, worker_id: workerId, events = [] }: In<typeof ingestEvents>,
  ): Promise<Out<typeof ingestEvents>> {
    if (events.length > MOST_EVENTS)
      throw TooManyEvents({ message: `The batch holds ${events.length} events, and at most ${MOST_EVENTS} are taken` });
    const batch = this.prepare(ctx, events);
    const { duplicates } = await this.keep(ctx, this.senderOf(ctx, runId, workerId), batch);
    const altered = batch.events.filter((event) => event.altered.length > 0).length;
    return { ...countKinds(batch.events), duplicate: duplicates, altered, refused: [...batch.refused] };
  }

  async addMessage(ctx: OpContext, message: In<typeof addMessage>): Promise<Out<typeof addMessage>> {
    const { run_id: runId, worker_id: workerId, ...fields } = message;
    const event: JsonObject = { event_type: 'message.created', ...fields };
    const isNamed = typeof event['event_id'] === 'string' && typeof event['event_sequence'] === 'number';
    const identity = isNamed ? identityOf(event) : null; // two equal messages without a name are two messages
    const ready = { ...prepareEvent(event, alteredUnder(ctx.altered, []), this.preparation(ctx)), identity };
    const batch = { events: [ready], refused: [] };
    const { appended, late } = await this.keep(ctx, this.senderOf(ctx, runId, workerId), batch, { kind: 'message' });
    if (late) throw late.why === 'after_end' ? RunTerminal() : RunStaleAttempt();
    invariant(appended, 'what is not late is kept');
    if (!appended.fresh)
      return toMessage(runId, { seq: appended.base + 1, at: appended.at, event: JSON.parse(ready.text) as JsonObject });
    const place = { accountId: ctx.actor.accountId, runId, day: appended.day };
    const first = await ctx.briefly((inner) => eventByIdentity(inner, place, ready.identity ?? Buffer.of()));
    invariant(first, 'a message that is known can be found');
    return toMessage(runId, first);
  }

  private senderOf(ctx: OpContext, runId: string, workerId: string): Sender {
    this.presence.heard(ctx.actor, workerId, 'events');
    return { runId, workerId, agentId: ctx.actor.id, attempt: null, streamSeq: null };
  }

  private prepare(ctx: OpContext, events: readonly unknown[]): ReadyBatch {
    const altered = ctx.altered.length > 0 ? alteredByItem(ctx.altered, ['events']) : undefined;
    return prepareBatch(events, { ...this.preparation(ctx), alteredOf: (index) => altered?.get(index) });
  }

  private preparation(ctx: OpContext) {
    const {
      fieldLimitBytes: fieldBytes,
      eventLimitBytes: eventBytes,
      artifactLimitBytes: artifactBytes,
      evidenceDepthLimit: depth,
    } = this.config;
    return {
      limits: { fieldBytes, eventBytes, artifactBytes, depth },
      newArtifactId: () => newId('artifact', ctx.now.getTime()),
    };
  }

  /** Keeps what is new of a batch; what is known changes nothing. */
  private async keep(
    ctx: OpContext,
    sender: Sender,
    { events, refused }: ReadyBatch,
    { kind = 'event', isUncertain = false }: { readonly kind?: Kind; readonly isUncertain?: boolean } = {},
  ): Promise<Taken> {
    let rest = events;
    for (;;) {
      const duplicates = events.length - rest.length;
      try {
        const batch = { events: rest, refused, duplicates, kind };
        const taken = await this.merging.share(ctx, { key: sender.runId, bytes: sizeOf(rest) }, (inner) =>
          this.keepNew(inner, sender, batch),
        );
        return { ...taken, duplicates };
      } catch (error) {
        if (!(error instanceof Repeated)) throw error;
        const { fresh, undone } = error;
        rest = fresh.flatMap((place) => rest[place - 1] ?? []);
        if (rest.length > 0) continue;
        if (isUncertain) return { appended: undone, late: undefined, duplicates: 0 }; // they are of the try before, whose answer was lost
        const place = { runId: sender.runId, streamSeq: sender.streamSeq, stored: 0, ...undone };
        await ctx.briefly((inner) => keepTally(inner, place, tallyOf([], refused, events.length)));
        return { appended: undone, late: undefined, duplicates: events.length };
      }
    }
  }

  private async keepNew(ctx: OpContext, sender: Sender, batch: KindOfBatch): Promise<Omit<Taken, 'duplicates'>> {
    const columns = columnsOf(batch.events);
    const tally = tallyOf(batch.events, batch.refused, batch.duplicates);
    for (let look = 0; look < LOOKS; look += 1) {
      const appended = columns.count > 0 ? await appendBatch(ctx, sender, columns, tally) : undefined;
      if (appended?.fresh) throw new Repeated(appended, appended.fresh);
      if (appended) {
        if (columns.hasSpanUsage && appended.usage_source !== 'total')
          await keepSumOfSpans(ctx, sender.runId, appended.day);
        ctx.afterCommit(() => this.bus.poke('run.grew', accountKey(ctx.actor.accountId, sender.runId)));
        return { appended, late: undefined };
      }
      const late = await this.keepLate(ctx, sender, batch);
      if (late || columns.count === 0) return { appended: undefined, late };
    }
    throw new Error('the run changes hands all the time');
  }

  /** Undefined when the sender does hold the run by now: then only what could not be stored is counted, if that is all. */
  private async keepLate(
    ctx: OpContext,
    sender: Sender,
    { events, refused, duplicates, kind }: KindOfBatch,
  ): Promise<Lateness | undefined> {
    const run = await factsOfHolder(ctx, sender);
    if (run?.agent_id !== sender.agentId) throw RunNotFound();
    const late = whyLate(run, sender.workerId, sender.attempt);
    if (!late && events.length > 0) return undefined;
    if (events.length === 0 && refused.length === 0) return late;
    const { day } = run;
    const ids = events.map(({ identity }) => this.lateId(identity, sender.workerId));
    const kept =
      late && events.length > 0 ? await keepLateEvents(ctx, sender, { day, ...late, kind, events, ids }) : [];
    const attempt = late ? (late.attempt ?? 0) : run.attempt;
    const streamSeq = attempt === 0 ? null : sender.streamSeq; // whoever never held the run has no stream of it
    const tally = tallyOf(kept, refused, duplicates + events.length - kept.length);
    await keepTally(ctx, { runId: sender.runId, day, attempt, streamSeq, stored: kept.length }, tally);
    return late;
  }

  /** Of what the event is and who says so: a repeat is kept once, and two workers that say the same are two. */
  private lateId(identity: Buffer | null, workerId: string): string {
    if (!identity) return newId('late', this.clock.nowMs());
    return `late_${createHash('sha256').update(identity).update(workerId).digest('hex').slice(0, 26)}`;
  }
}

function sizeOf(events: readonly ReadyEvent[]): number {
  return events.reduce((sum, { text }) => sum + text.length, 0);
}
