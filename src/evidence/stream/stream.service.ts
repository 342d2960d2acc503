import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CredentialWatch, Credentials } from '../../identity/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { invalid } from '../../platform/faults/faults.ts';
import { LiveStream, type EventSink } from '../../platform/http/live-stream.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { Actor } from '../../platform/operation/actor.ts';
import type { Capability, In, OpContext } from '../../platform/operation/operation.ts';
import { Decider } from '../../platform/operation/ports.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { RunLifecycle } from '../../runs/index.ts';
import { Outflow } from './outflow.stream.ts';
import { RunReader, type ReaderWish } from './reader.stream.ts';
import { StreamTooMany, type streamRun } from './stream.contract.ts';
import { grownRuns, readingOf } from './stream.store.ts';
import { OwnVoice, type Voice } from './voice.stream.ts';

/** A poke may be lost: each second somebody looks for all readers at once. */
const LOOK_MS = 1_000;
const RUNS_A_LOOK = 1_000;

/** How a run's stream is opened by others than its own operation. */
export interface StreamOptions extends Partial<ReaderWish> {
  /** What the reader was allowed by; it is closed when that is taken away. Default: `run.read`. */
  readonly capability?: Capability;
  /** `assertFree` was asked before: too late for a refusal. */
  readonly isAdmitted?: boolean;
}

/** Where a run is told beside other things, and from which number on. */
export interface Joining {
  readonly after: number;
  /** The stream that it shares: when that is over, so is this. */
  readonly stream: Pick<EventSink, 'signal' | 'destroy'>;
}

interface Telling {
  readonly wish: ReaderWish;
  readonly voice: Voice;
  readonly capability: Capability;
}

/** An open stream and whose it is. */
interface Held {
  readonly reader: RunReader;
  readonly actor: Actor;
  readonly runId: string;
  readonly capability: Capability;
}

/**
 * The open streams of this replica. Each has a reader that reads by itself; here they are rung when their run has grown,
 * counted, kept alive and sent away. Nothing of a stream stays when it is over.
 */
@Injectable()
export class RunStreams implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Log('streams');
  private readonly byRun = new Map<string, Set<Held>>();
  private readonly perPrincipal = new Map<string, number>();
  private readonly running = new Set<Promise<void>>();
  private timers: NodeJS.Timeout[] = [];
  private looking = false;

  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Database) private readonly database: Database,
    @Inject(Decider) private readonly decider: Decider,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Bus) bus: Bus,
    @Inject(CredentialWatch) watch: CredentialWatch,
    @Inject(Credentials) private readonly credentials: Credentials,
  ) {
    bus.on('run.grew', (key) => this.ring(key));
    bus.on('run.ended', (key) => this.ring(key));
    bus.onGap(() => this.forEach(({ reader }) => reader.ring()));
    watch.onChange(() => void this.refuseUngranted());
    replica.draining.addEventListener('abort', () => this.forEach(({ reader }) => reader.move()), { once: true });
  }

  onApplicationBootstrap(): void {
    const keepAlive = setInterval(
      () => this.forEach(({ reader }) => reader.keepAlive()),
      this.config.streamCommentSeconds * 1_000,
    );
    const look = setInterval(() => void this.look(), LOOK_MS);
    this.timers = [keepAlive.unref(), look.unref()];
  }

  /** The connections are gone by now: what was still being read ends. */
  async onApplicationShutdown(): Promise<void> {
    for (const timer of this.timers) clearInterval(timer);
    this.forEach(({ reader }) => reader.move());
    await Promise.all(this.running);
  }

  async stream(ctx: OpContext, input: In<typeof streamRun>): Promise<LiveStream> {
    const { run_id: runId, after: fromQuery, 'last-event-id': resumed, types, follow } = input;
    this.assertFree(ctx.actor);
    const run = await ctx.briefly((inner) => this.runs.find(inner, runId), 'read');
    const after = resumed ?? fromQuery;
    if (after > run.last_seq)
      throw invalid(
        resumed === undefined ? ['query', 'after'] : ['headers', 'last-event-id'],
        'is beyond the last event of the run',
      );
    return this.open(ctx, runId, {
      after,
      follow,
      ...(types === undefined ? {} : { types: new Set(types.split(',').map((type) => type.trim())) }),
    });
  }

  /**
   * A stream of a run that exists, with no transaction around the caller. It needs no connection and goes on when the
   * operation is long over.
   * @throws Fault 429 `stream.too_many`, unless the caller was admitted before.
   */
  open(ctx: OpContext, runId: string, options: StreamOptions = {}): LiveStream {
    const { after = 0, types, follow = true, capability = 'run.read', isAdmitted = false } = options;
    if (!isAdmitted) this.assertFree(ctx.actor);
    const leave = this.take(ctx.actor);
    return new LiveStream((sink) => {
      const voice = new OwnVoice(new Outflow(sink, this.clock, this.config.streamBacklogBytes));
      const held = this.held(ctx, runId, { wish: { after, types, follow }, voice, capability });
      void this.hold(held, sink).finally(leave);
    });
  }

  /** Tells a run beside other things, in a stream that is somebody else's. Answers the end of it. */
  join(ctx: OpContext, runId: string, voice: Voice, { after, stream }: Joining): Promise<void> {
    const wish = { after, types: undefined, follow: true };
    return this.hold(this.held(ctx, runId, { wish, voice, capability: 'run.read' }), stream);
  }

  /** Takes one of the principal's places, and answers how it is left. */
  take(actor: Actor): () => void {
    const key = principalKey(actor);
    this.perPrincipal.set(key, (this.perPrincipal.get(key) ?? 0) + 1);
    return () => {
      const left = (this.perPrincipal.get(key) ?? 1) - 1;
      if (left > 0) this.perPrincipal.set(key, left);
      else this.perPrincipal.delete(key);
    };
  }

  private held(ctx: OpContext, runId: string, { wish, voice, capability }: Telling): Held {
    const { accountId } = ctx.actor;
    const find = () => ctx.briefly((inner) => this.runs.find(inner, runId), 'read');
    const source = { accountId, runId, reading: readingOf(this.database, accountId), find, clock: this.clock };
    return { reader: new RunReader(source, wish, voice), actor: ctx.actor, runId, capability };
  }

  /** @throws Fault 429 `stream.too_many` when the principal holds as many streams as it may. */
  assertFree(actor: Actor): void {
    const { streamsPerPrincipal: limit } = this.config;
    if ((this.perPrincipal.get(principalKey(actor)) ?? 0) < limit) return;
    throw StreamTooMany({ message: `A principal holds at most ${limit} streams on one replica` });
  }

  private hold(held: Held, sink: Pick<EventSink, 'signal' | 'destroy'>): Promise<void> {
    const key = accountKey(held.actor.accountId, held.runId);
    const readers = this.byRun.get(key) ?? new Set();
    this.byRun.set(key, readers.add(held));
    const wake = (): void => held.reader.ring();
    sink.signal.addEventListener('abort', wake, { once: true });
    if (this.replica.isDraining) held.reader.move();
    const over = held.reader
      .run()
      .catch((error: unknown) => {
        this.log.warn('a stream failed; its reader may resume', { run_id: held.runId, error: describeError(error) });
        sink.destroy();
      })
      .finally(() => {
        sink.signal.removeEventListener('abort', wake);
        this.letGo(held);
        this.running.delete(over);
      });
    this.running.add(over);
    return over;
  }

  private letGo(held: Held): void {
    const key = accountKey(held.actor.accountId, held.runId);
    const readers = this.byRun.get(key);
    readers?.delete(held);
    if (readers?.size === 0) this.byRun.delete(key);
  }

  private ring(key: string): void {
    for (const { reader } of this.byRun.get(key) ?? []) reader.ring();
  }

  /** One statement for a thousand runs: an idle reader costs nothing of its own. */
  private async look(): Promise<void> {
    if (this.looking || this.byRun.size === 0) return;
    this.looking = true;
    try {
      const waiting: {
        readonly reader: RunReader;
        readonly accountId: string;
        readonly runId: string;
        readonly day: string;
        readonly seq: number;
      }[] = [];
      this.forEach(({ reader }) => {
        const at = reader.waitingAt;
        if (at) waiting.push({ ...at, reader });
      });
      for (let from = 0; from < waiting.length; from += RUNS_A_LOOK) {
        for (const { reader } of await grownRuns(this.database, waiting.slice(from, from + RUNS_A_LOOK))) reader.ring();
      }
    } catch (error) {
      this.log.debug('nobody could look for new entries', { error: describeError(error) });
    } finally {
      this.looking = false;
    }
  }

  /** What a reader was allowed by may have been taken away. */
  private async refuseUngranted(): Promise<void> {
    try {
      await this.refuseRevoked();
      await this.refuseDenied();
    } catch (error) {
      this.log.warn('streams could not be checked', { error: describeError(error) });
    }
  }

  private async refuseRevoked(): Promise<void> {
    const held: Held[] = [];
    this.forEach((one) => held.push(one));
    const ids = [...new Set(held.map(({ actor }) => actor.credentialId).filter((id) => id !== ''))];
    const valid = await this.credentials.valid(ids);
    for (const { reader, actor } of held) {
      if (ids.includes(actor.credentialId) && !valid.has(actor.credentialId))
        reader.refuse('auth.revoked', 'The credential was taken back');
    }
  }

  private async refuseDenied(): Promise<void> {
    const decisions = new Map<string, ReturnType<Decider['decide']>>();
    const refusals: Promise<void>[] = [];
    this.forEach(({ reader, actor, capability, runId }) => {
      const key = `${principalKey(actor)}/${actor.credentialId}/${capability}`;
      const decision = decisions.get(key) ?? this.decider.decide(actor, capability, { run: runId });
      decisions.set(key, decision);
      const refuse = async (): Promise<void> => {
        if ((await decision) !== 'allow') reader.refuse('access.denied', `This needs the capability ${capability}`);
      };
      refusals.push(refuse());
    });
    await Promise.all(refusals);
  }

  private forEach(visit: (held: Held) => void): void {
    for (const readers of this.byRun.values()) for (const held of readers) visit(held);
  }
}

function principalKey({ accountId, id }: Actor): string {
  return accountKey(accountId, id);
}
