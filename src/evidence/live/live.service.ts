import { Inject, Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { CredentialWatch, Credentials } from '../../identity/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { splitAccountKey, type PokeTopic } from '../../platform/bus/keys.ts';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Fault, invalid } from '../../platform/faults/faults.ts';
import { LiveStream, type EventSink } from '../../platform/http/live-stream.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { Decider } from '../../platform/operation/ports.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { RunLifecycle } from '../../runs/index.ts';
import { Outflow } from '../stream/outflow.stream.ts';
import { RunStreams } from '../stream/stream.service.ts';
import { RESUME_MS, heardFrom, shortName, type Heard } from './cursor.policy.ts';
import { nowOf } from './changes.store.ts';
import { Feed } from './feed.stream.ts';
import type { streamAccount } from './live.contract.ts';
import { Listener } from './listener.stream.ts';
import { RunVoice } from './run-voice.stream.ts';
import { MOST_TOPICS, topicOf, wishesOf, type Wish } from './topics.policy.ts';
import { Topics } from './topics.service.ts';

/** Behind every poke: so often each account that somebody listens to is looked at anyway. */
const LOOK_MS = 5_000;

/** Where a reader begins. */
interface Start {
  readonly wishes: readonly Wish[];
  readonly heard: Heard | undefined;
  readonly now: Date;
}

/**
 * The streams of accounts that are open on this replica. The readers of an account share one feed of its lists; the runs that
 * one hears of are read by the readers of runs.
 */
@Injectable()
export class AccountStreams implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly log = new Log('streams');
  private readonly feeds = new Map<string, Feed>();
  private readonly listeners = new Set<Listener>();
  private timers: NodeJS.Timeout[] = [];

  constructor(
    @Inject(Topics) private readonly topics: Topics,
    @Inject(RunStreams) private readonly runStreams: RunStreams,
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Decider) private readonly decider: Decider,
    @Inject(Credentials) private readonly credentials: Credentials,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Bus) bus: Bus,
    @Inject(CredentialWatch) watch: CredentialWatch,
  ) {
    const pokes = new Set([...topics.byName.values()].flatMap((topic) => topic.pokes));
    for (const poke of pokes) bus.on(poke, (key) => this.poked(poke, key));
    bus.onGap(() => void this.lookAtAll());
    watch.onChange(() => void this.refuseUngranted());
    replica.draining.addEventListener('abort', () => this.move(), { once: true });
  }

  onApplicationBootstrap(): void {
    const keepAlive = (): void => this.listeners.forEach((listener) => listener.keepAlive());
    this.timers = [
      setInterval(keepAlive, this.config.streamCommentSeconds * 1_000).unref(),
      setInterval(() => void this.lookAtAll(), LOOK_MS).unref(),
    ];
  }

  onApplicationShutdown(): void {
    for (const timer of this.timers) clearInterval(timer);
    this.move();
  }

  /** @throws Fault 429 `stream.too_many`. */
  async stream(ctx: OpContext, input: In<typeof streamAccount>): Promise<LiveStream> {
    const wishes = wishesOf(input.topics);
    if (wishes.length === 0 || wishes.length > MOST_TOPICS)
      throw invalid(['query', 'topics'], `must name 1 to ${MOST_TOPICS} topics`);
    this.runStreams.assertFree(ctx.actor);
    const resumed = input['last-event-id'];
    const heard = resumed === undefined ? undefined : heardFrom(resumed);
    const now = await ctx.briefly(nowOf, 'read');
    const leave = this.runStreams.take(ctx.actor);
    return new LiveStream((sink) => {
      void this.attend(ctx, sink, { wishes, heard, now })
        .catch((error: unknown) => {
          this.log.warn('a stream failed; its reader may resume', { error: describeError(error) });
          sink.destroy();
        })
        .finally(leave);
    });
  }

  /** Resolves when the reader is gone. */
  private async attend(ctx: OpContext, sink: EventSink, { wishes, heard, now }: Start): Promise<void> {
    const { streamBacklogBytes: backlogBytes } = this.config;
    const out = new Outflow(sink, this.clock, backlogBytes);
    const listener = new Listener(ctx, { sink, out, backlogBytes }, { at: heard?.at ?? now, runs: new Map() });
    const isFresh = heard !== undefined && Math.abs(now.getTime() - heard.at.getTime()) <= RESUME_MS;
    const feed = this.feedOf(ctx.actor.accountId);
    this.listeners.add(listener);
    try {
      const admitted = await this.admit(listener, wishes);
      for (const wish of admitted) if (wish.kind === 'list') listener.lists.add(wish.name);
      await feed.begin(listener, isFresh ? heard.at : undefined);
      for (const wish of admitted) if (wish.kind === 'run') await this.follow(listener, wish.runId, heard);
      if (this.replica.isDraining) this.move();
      await untilOver(sink);
    } finally {
      this.listeners.delete(listener);
      feed.end(listener);
      if (feed.listeners.size === 0) this.feeds.delete(ctx.actor.accountId);
    }
  }

  /** Those that may be heard; of the others it is said why not. */
  private async admit(listener: Listener, wishes: readonly Wish[]): Promise<Wish[]> {
    const admitted: Wish[] = [];
    for (const wish of wishes) {
      const code = await this.refusalOf(listener, wish);
      if (code === undefined) admitted.push(wish);
      else listener.refuse(topicOf(wish), code);
    }
    return admitted;
  }

  private async refusalOf({ ctx }: Listener, wish: Wish): Promise<string | undefined> {
    if (wish.kind === 'run')
      return (await this.decider.decide(ctx.actor, 'run.read', { run: wish.runId })) === 'allow'
        ? undefined
        : 'access.denied';
    const topic = this.topics.byName.get(wish.name);
    if (!topic) return 'topic.unknown';
    return (await this.decider.decide(ctx.actor, topic.capability, {})) === 'allow' ? undefined : 'access.denied';
  }

  /** From the number that the reader has; one who has none is told from which on it hears. */
  private async follow(listener: Listener, runId: string, heard: Heard | undefined): Promise<void> {
    const { ctx, sink } = listener;
    const topic = `run:${runId}`;
    try {
      const { last_seq: last } = await ctx.briefly((inner) => this.runs.find(inner, runId), 'read');
      const known = heard?.runs.get(shortName(runId));
      const after = known !== undefined && known <= last ? known : last;
      const place = { run: shortName(runId), seq: after };
      listener.place(place.run, place.seq);
      const change = { topic, kind: 'reset', id: runId, at: wireTime(this.clock.now()) } as const;
      if (after !== known) await listener.say(change, place);
      void this.runStreams.join(ctx, runId, new RunVoice(listener, runId, this.clock), { after, stream: sink });
    } catch (error) {
      if (!(error instanceof Fault) || error.type.kind !== 'not_found') throw error;
      listener.refuse(topic, error.type.code);
    }
  }

  private feedOf(accountId: string): Feed {
    const { clock, log } = this;
    const mostBytes = this.config.streamBacklogBytes / 2;
    const feed = this.feeds.get(accountId) ?? new Feed(this.topics.byName.values(), { clock, log, mostBytes });
    this.feeds.set(accountId, feed);
    return feed;
  }

  private poked(poke: PokeTopic, key: string): void {
    if (this.feeds.size === 0) return;
    const [accountId, id] = splitAccountKey(key);
    this.feeds.get(accountId)?.poked(poke, id);
  }

  private async lookAtAll(): Promise<void> {
    for (const feed of this.feeds.values()) await feed.lookAtAll().catch(() => {});
  }

  private move(): void {
    for (const listener of this.listeners) listener.leave('moved', { done: false });
  }

  /** What a reader was allowed by may have been taken away. The runs that it hears of are looked after by their readers. */
  private async refuseUngranted(): Promise<void> {
    try {
      const held = [...this.listeners];
      const ids = [...new Set(held.map(({ ctx }) => ctx.actor.credentialId).filter((id) => id !== ''))];
      const valid = await this.credentials.valid(ids);
      for (const listener of held) {
        const { credentialId } = listener.ctx.actor;
        if (ids.includes(credentialId) && !valid.has(credentialId))
          listener.leave('error', { topic: null, code: 'auth.revoked' });
        else await this.refuseLists(listener);
      }
    } catch (error) {
      this.log.warn('streams could not be checked', { error: describeError(error) });
    }
  }

  private async refuseLists(listener: Listener): Promise<void> {
    for (const name of listener.lists) {
      const code = await this.refusalOf(listener, { kind: 'list', name });
      if (code === undefined) continue;
      listener.lists.delete(name);
      listener.refuse(name, code);
    }
  }
}

function untilOver({ signal }: EventSink): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
