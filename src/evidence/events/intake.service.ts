import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { OutcomeUnknown } from '../../platform/db/transaction.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invalid, invariant } from '../../platform/faults/faults.ts';
import { derivedId, newId } from '../../platform/ids/ids.ts';
import { alteredByItem, alteredUnder, type JsonObject } from '../../platform/json/json.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Patience } from '../../platform/operation/patience.ts';
import {
  RunNotFound,
  RunStaleAttempt,
  RunTerminal,
  countMasked,
  factsOfHolder,
  toMessage,
  type Lateness,
  whyLate,
} from '../../runs/index.ts';
import { Presence } from '../../workers/index.ts';
import { Masks, type Matcher } from '../../vault/index.ts';
import { RunTails, type View } from '../tails/tails.service.ts';
import { keepSumOfSpans } from '../usage/usage.store.ts';
import { appendBatch, type Appended, type Sender } from './append.store.ts';
import {
  columnsOf,
  identityOf,
  prepareEvents,
  readBatch,
  type GivenBatch,
  type GivenEvent,
  type ReadyEvent,
  type Refusal,
} from './batch.policy.ts';
import { countKinds } from './counts.policy.ts';
import type { addMessage, ingestEvents, takeEvents } from './events.contract.ts';
import { TooManyEvents } from './events.faults.ts';
import { keepLateEvents } from './late.store.ts';
import { eventByIdentity } from './log.store.ts';
import { BatchMask, type WaitingEvent } from './masked.policy.ts';
import { Merging } from './merging.service.ts';
import { tallyOf } from './tally.policy.ts';
import { keepTally } from './tally.store.ts';

/** A worker waits 30 s for its answer (worker-protocol.md §5). */
const HELD_MS = 20_000;
const MOST_EVENTS = 1_000;
/** Between two looks the run may have changed hands; more often than this in a row it does not. */
const LOOKS = 3;
/** Each time a batch of the same run came first, or more was handed out. */
const MOST_OUTDATED = 20;

type Kind = 'event' | 'message';
/** A batch as it is kept, and by what it was masked. */
interface MaskedBatch {
  readonly kind: Kind;
  readonly refused: readonly Refusal[];
  /** Events of the batch that were known, and are not in `events`. */
  readonly duplicates: number;
  readonly given: readonly GivenEvent[];
  readonly events: readonly ReadyEvent[];
  readonly matcher: Matcher;
  readonly mask: BatchMask;
  readonly view: View;
}

/** What became of the events of a batch. */
interface Taken {
  readonly appended: Appended | undefined;
  readonly events: readonly ReadyEvent[];
  readonly duplicates: number;
  readonly late: Lateness | undefined;
}

/** What one transaction did with a batch. */
interface Kept {
  readonly appended: Appended | undefined;
  readonly late: Lateness | undefined;
  /** By what the next one is to be masked. */
  readonly view: View;
}

/** It was masked by something else than holds now: it is to be masked again. */
class Outdated extends Error {
  readonly now: View | undefined;

  constructor(now?: View) {
    super('more was handed out, or other texts came');
    this.now = now;
  }
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
    @Inject(Masks) private readonly masks: Masks,
    @Inject(RunTails) private readonly tails: RunTails,
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
    await this.keepThroughOutage(ctx, sender, this.read(ctx, events), HELD_MS);
  }

  /** One run’s part of a batch. @throws Fault 404 for a run that is not the agent’s. */
  async takePart(
    ctx: OpContext,
    { runId, workerId }: Pick<Sender, 'runId' | 'workerId'>,
    part: GivenBatch,
    heldMs: number,
  ): Promise<void> {
    await this.keepThroughOutage(ctx, this.senderOf(ctx, runId, workerId), part, heldMs);
  }

  async ingest(
    ctx: OpContext,
    { run_id: runId, worker_id: workerId, events = [] }: In<typeof ingestEvents>,
  ): Promise<Out<typeof ingestEvents>> {
    refuseTooMany(events);
    const batch = this.read(ctx, events);
    const { duplicates, altered } = await this.keep(ctx, this.senderOf(ctx, runId, workerId), batch);
    const kinds = countKinds(batch.events.map(({ event }) => ({ type: String(event['event_type']) })));
    return { ...kinds, duplicate: duplicates, altered, refused: [...batch.refused] };
  }

  async addMessage(ctx: OpContext, message: In<typeof addMessage>): Promise<Out<typeof addMessage>> {
    const { run_id: runId, worker_id: workerId, ...fields } = message;
    const event: JsonObject = { event_type: 'message.created', ...fields };
    const isNamed = typeof event['event_id'] === 'string' && typeof event['event_sequence'] === 'number';
    const identity = isNamed ? identityOf(event) : null; // two equal messages without a name are two messages
    const given = { event, identity, altered: alteredUnder(ctx.altered, []) };
    const batch = { events: [given], refused: [] };
    const sender = this.senderOf(ctx, runId, workerId);
    const { appended, late, events } = await this.keep(ctx, sender, batch, { kind: 'message' });
    if (late) throw late.why === 'after_end' ? RunTerminal() : RunStaleAttempt();
    invariant(appended, 'what is not late is kept');
    if (!appended.fresh) {
      const stored = JSON.parse(events[0]?.text ?? '{}') as JsonObject;
      return toMessage(runId, { seq: appended.base + 1, at: appended.at, event: stored });
    }
    const place = { accountId: ctx.actor.accountId, runId, day: appended.day };
    const first = await ctx.briefly((inner) => eventByIdentity(inner, place, identity ?? Buffer.of()));
    invariant(first, 'a message that is known can be found');
    return toMessage(runId, first);
  }

  private async keepThroughOutage(ctx: OpContext, sender: Sender, batch: GivenBatch, heldMs: number): Promise<void> {
    let isUncertain = false;
    await this.patience.throughOutage({ heldMs, sizeOf: () => lengthOf(batch) }, async () => {
      try {
        await this.keep(ctx, sender, batch, { isUncertain });
      } catch (error) {
        isUncertain ||= error instanceof OutcomeUnknown;
        throw error;
      }
    });
  }

  private senderOf(ctx: OpContext, runId: string, workerId: string): Sender {
    this.presence.heard(ctx.actor, workerId, 'events');
    return { runId, workerId, agentId: ctx.actor.id, attempt: null, streamSeq: null };
  }

  private read(ctx: OpContext, events: readonly unknown[]): GivenBatch {
    const altered = ctx.altered.length > 0 ? alteredByItem(ctx.altered, ['events']) : undefined;
    return readBatch(events, (index) => altered?.get(index));
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
    { events: given, refused }: GivenBatch,
    { kind = 'event', isUncertain = false }: { readonly kind?: Kind; readonly isUncertain?: boolean } = {},
  ): Promise<Taken & { readonly altered: number }> {
    let rest = given;
    let altered: number | undefined;
    for (let outdated = 0; ;) {
      const batch = await this.masked(ctx, sender, { events: rest, refused }, kind);
      const duplicates = given.length - batch.events.length;
      altered ??= batch.events.filter((event) => event.altered.length > 0).length;
      try {
        const taken = await this.merging.share(ctx, { key: sender.runId, bytes: sizeOf(batch.events) }, (inner) =>
          this.keepNew(inner, sender, { ...batch, duplicates }),
        );
        if (taken.view !== batch.view) this.tails.remember(ctx.actor.accountId, sender.runId, taken.view);
        return { ...taken, events: batch.events, duplicates, altered };
      } catch (error) {
        if (error instanceof Outdated && outdated < MOST_OUTDATED) {
          outdated += 1;
          await this.lookAgain(ctx, sender, error);
          continue;
        }
        if (!(error instanceof Repeated)) throw error;
        const { fresh, undone } = error;
        rest = fresh.flatMap((place) => batch.given[place - 1] ?? []);
        if (rest.length > 0) continue;
        const known = { appended: undone, events: [], late: undefined, altered };
        if (isUncertain) return { ...known, duplicates: 0 }; // they are of the try before, whose answer was lost
        const place = { runId: sender.runId, streamSeq: sender.streamSeq, stored: 0, ...undone };
        await ctx.briefly((inner) => keepTally(inner, place, tallyOf([], refused, given.length)));
        return { ...known, duplicates: given.length };
      }
    }
  }

  private async lookAgain(ctx: OpContext, sender: Sender, { now }: Outdated): Promise<void> {
    const view = now ?? (await ctx.briefly((inner) => this.tails.read(inner, sender), 'read'));
    if (view) this.tails.remember(ctx.actor.accountId, sender.runId, view);
  }

  /** Masks a batch by what this replica knows of its run. An event that waits already is known. */
  private async masked(
    ctx: OpContext,
    { runId }: Sender,
    { events: given, refused }: GivenBatch,
    kind: Kind,
  ): Promise<Omit<MaskedBatch, 'duplicates'>> {
    const { accountId } = ctx.actor;
    const view = this.tails.viewOf(accountId, runId);
    const waiting = new Set(view.kept.events.map(({ identity }) => identity));
    const isKnown = ({ identity }: GivenEvent): boolean =>
      kind === 'event' && identity !== null && waiting.has(identity.toString('base64'));
    const fresh = waiting.size === 0 ? given : given.filter((event) => !isKnown(event));
    const matcher = await this.masks.matcherOf(accountId, runId, view.handedOut);
    const mask = new BatchMask(matcher, view.kept);
    const events = prepareEvents(fresh, { ...this.preparation(ctx), mask });
    return { kind, refused, given: fresh, events, matcher, mask, view };
  }

  private async keepNew(ctx: OpContext, sender: Sender, batch: MaskedBatch): Promise<Kept> {
    const { events, view } = batch;
    const columns = columnsOf(events);
    const tally = tallyOf(events, batch.refused, batch.duplicates);
    for (let look = 0; look < LOOKS; look += 1) {
      const appended = columns.count > 0 ? await appendBatch(ctx, sender, columns, tally, view) : undefined;
      if (appended?.fresh) throw new Repeated(appended, [...appended.fresh, ...placesOfWaiting(events)]);
      if (appended) {
        if (columns.hasSpanUsage && appended.usage_source !== 'total')
          await keepSumOfSpans(ctx, sender.runId, appended.day);
        const now = await this.keepRemainder(ctx, sender, batch, appended);
        ctx.afterCommit(() => this.bus.poke('run.grew', accountKey(ctx.actor.accountId, sender.runId)));
        return { appended, late: undefined, view: now };
      }
      const now = columns.count > 0 ? await this.tails.read(ctx, sender) : undefined;
      if (now && (now.handedOut !== view.handedOut || now.tailsVersion !== view.tailsVersion)) throw new Outdated(now);
      const late = await this.keepLate(ctx, sender, batch);
      if (late || columns.count === 0) return { appended: undefined, late, view };
    }
    throw new Error('the run changes hands all the time');
  }

  /** What was masked is counted, and what is undecided is kept. Most batches leave nothing of either. */
  private async keepRemainder(
    ctx: OpContext,
    sender: Sender,
    { events, mask, view }: MaskedBatch,
    { base, at, attempt }: Appended,
  ): Promise<View> {
    const { runId, streamSeq } = sender;
    const masked = maskedIn(events);
    if (!mask.hasChanged) {
      await countMasked(ctx, runId, masked);
      return view;
    }
    const waitingAt = (place: number): WaitingEvent => {
      const event = events[place];
      invariant(event?.waiting, 'only what waits is kept');
      const { type, identity, altered, waiting } = event;
      const name = identity?.toString('base64') ?? null;
      const ofRow = {
        seq: base + place + 1,
        at: at.toISOString(),
        attempt,
        type,
        identity: name,
        streamSeq,
        altered,
      };
      return { ...ofRow, event: waiting.event, masked: waiting.masked ?? {} };
    };
    const run = { accountId: ctx.actor.accountId, runId };
    const now = await this.tails.keep(ctx, run, { mask, view, masked, waitingAt });
    if (!now) throw new Outdated();
    return now;
  }

  /**
   * Undefined when the sender does hold the run by now: then only what could not be stored is counted, if that is all. What comes
   * late follows nothing and waits for nothing.
   */
  private async keepLate(ctx: OpContext, sender: Sender, batch: MaskedBatch): Promise<Lateness | undefined> {
    const { given, refused, duplicates, kind, matcher } = batch;
    const run = await factsOfHolder(ctx, sender);
    if (run?.agent_id !== sender.agentId) throw RunNotFound();
    const late = whyLate(run, sender.workerId, sender.attempt);
    if (!late && given.length > 0) return undefined;
    if (given.length === 0 && refused.length + duplicates === 0) return late;
    const { day } = run;
    const events = prepareEvents(given, { ...this.preparation(ctx), mask: new BatchMask(matcher) });
    const ids = events.map(({ identity }) => this.lateId(identity, sender.workerId));
    const kept =
      late && events.length > 0
        ? await keepLateEvents(ctx, sender, { day, isWithheld: run.is_withheld, ...late, kind, events, ids })
        : [];
    await countMasked(ctx, sender.runId, maskedIn(kept));
    const attempt = late ? (late.attempt ?? 0) : run.attempt;
    const streamSeq = attempt === 0 ? null : sender.streamSeq; // whoever never held the run has no stream of it
    const tally = tallyOf(kept, refused, duplicates + events.length - kept.length);
    await keepTally(ctx, { runId: sender.runId, day, attempt, streamSeq, stored: kept.length }, tally);
    return late;
  }

  /** Of what the event is and who says so: a repeat is kept once, and two workers that say the same are two. */
  private lateId(identity: Buffer | null, workerId: string): string {
    if (!identity) return newId('late', this.clock.nowMs());
    return derivedId('late', Buffer.concat([identity, Buffer.from(workerId)]));
  }
}

/** @throws Fault 413 for a batch that is not sent in a frame. */
export function refuseTooMany({ length }: readonly unknown[]): void {
  if (length > MOST_EVENTS)
    throw TooManyEvents({ message: `The batch holds ${length} events, and at most ${MOST_EVENTS} are taken` });
}

function lengthOf({ events }: GivenBatch): number {
  return events.reduce((sum, { event }) => sum + JSON.stringify(event).length, 0);
}

function sizeOf(events: readonly ReadyEvent[]): number {
  return events.reduce((sum, { text }) => sum + text.length, 0);
}

/** Waiting ones are stored nowhere yet, so they are new. */
function placesOfWaiting(events: readonly ReadyEvent[]): number[] {
  return events.flatMap(({ waiting }, index) => (waiting ? [index + 1] : []));
}

function maskedIn(events: readonly ReadyEvent[]): number {
  let total = 0;
  for (const { masked, waiting } of events)
    if (masked && !waiting) for (const count of Object.values(masked)) total += count;
  return total;
}
