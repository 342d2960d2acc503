import { Inject, Injectable, type BeforeApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { CredentialWatch, Credentials } from '../../identity/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { Draining } from '../../platform/faults/faults.ts';
import { KEEP_ALIVE_COMMENT, LiveStream, type EventSink } from '../../platform/http/live-stream.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { Replica } from '../../platform/replica/replica.ts';
import { isDarkAfter } from '../fleet/lights.policy.ts';
import { Presence, type Speaker } from '../presence/presence.service.ts';
import { WorkerIdTaken } from '../registration/registration.contract.ts';
import type { openChannel, pong } from './channel.contract.ts';
import { recordedChannels, type RecordedChannel } from './channel.store.ts';
import { WorkerChannel, type ChannelFrame } from './channel.stream.ts';
import { Pings } from './pings.service.ts';
import { ChannelRecords } from './records.service.ts';

type PongListener = (ctx: OpContext, workerId: string, nonce: string) => Promise<void>;
type OpenedListener = (accountId: string, agentId: string, workerId: string) => void;

/** The workers of one agent that hang on this replica, the one that was rung longest ago first. */
interface Crew {
  readonly accountId: string;
  readonly agentId: string;
  readonly channels: Set<WorkerChannel>;
}

/**
 * The open channels of this replica. Whoever has something to say to a worker says it here, and is told whether there was
 * a channel; what a channel carries may be lost, and is repeated by whoever needs it to arrive.
 *
 * Newest channel of a worker id wins: here at once, across replicas by the nonce in the worker's row. A channel ends when
 * its token dies, and nothing is ever said at its end.
 */
@Injectable()
export class Channels implements OnModuleInit, BeforeApplicationShutdown {
  private readonly log = new Log('channels');
  private readonly byWorker = new Map<string, WorkerChannel>();
  private readonly byAgent = new Map<string, Crew>();
  private readonly listeners = new Set<OpenedListener>();
  private readonly pongListeners = new Set<PongListener>();
  private readonly doubted = new Set<string>();
  private checkingTokens: Promise<void> | undefined;
  private openings = 0;

  constructor(
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Pings) private readonly pings: Pings,
    @Inject(ChannelRecords) private readonly records: ChannelRecords,
    @Inject(Credentials) private readonly credentials: Credentials,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
    @Inject(Database) private readonly database: Database,
    @Inject(Replica) private readonly replica: Replica,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.records.handleWith({
      won: (channel) => this.greet(channel),
      lost: (channel) => this.end(channel),
      round: () => void this.endRevoked(),
    });
    this.presence.onClaim((accountId, workerId) => this.noteFree(accountId, workerId));
    this.watch.onChange(() => void this.endRevoked());
    this.bus.on('channel.opened', (key) => this.doubt(key));
  }

  /** Ends all quietly. The workers come back a second later, to another replica. */
  async beforeApplicationShutdown(): Promise<void> {
    for (const channel of this.all()) this.end(channel);
    await this.records.finish();
  }

  /** @throws Fault 403 `worker.id_taken` while a worker of another agent hangs here under the id. */
  async open(ctx: OpContext, { worker_id: workerId }: In<typeof openChannel>): Promise<LiveStream> {
    const { accountId, id: agentId, credentialId } = ctx.actor;
    if (this.replica.isDraining) throw Draining();
    const holder = this.byWorker.get(accountKey(accountId, workerId));
    if (holder && holder.agentId !== agentId) throw WorkerIdTaken();
    const speaker: Speaker = { accountId, id: agentId, credentialId };
    return new LiveStream((sink) => this.attach(speaker, workerId, sink));
  }

  async pong(ctx: OpContext, { worker_id: workerId, nonce }: In<typeof pong>): Promise<void> {
    this.presence.heard(ctx.actor, workerId, 'pong', this.pings.roundTripMs(nonce));
    const channel = this.byWorker.get(accountKey(ctx.actor.accountId, workerId));
    if (channel?.agentId === ctx.actor.id) channel.pongAt = this.clock.monotonicMs();
    for (const listener of this.pongListeners) await listener(ctx, workerId, nonce);
  }

  /** Rings the doorbell of so many free workers of an agent that hang here, at most. Answers how many were rung. */
  ring(accountId: string, agentId: string, atMost: number): number {
    const crew = this.byAgent.get(accountKey(accountId, agentId));
    if (!crew || atMost < 1) return 0;
    const now = this.clock.monotonicMs();
    const free = this.freeOf(crew, atMost, now);
    if (free.length === 0) return 0;
    const doorbell = { id: this.frameId(), type: 'work_available', payload: { agent_id: agentId } };
    let rung = 0;
    for (const channel of free) {
      if (!this.sendOn(channel, doorbell)) continue;
      channel.noteRung(now);
      crew.channels.delete(channel); // to the end of the row
      crew.channels.add(channel);
      rung += 1;
    }
    return rung;
  }

  /** Sends a frame to a worker that hangs here. False: it does not, or its dialect has no words for it. */
  send(accountId: string, workerId: string, frame: ChannelFrame): boolean {
    const channel = this.at(accountId, workerId);
    return channel !== undefined && this.sendOn(channel, frame);
  }

  /** As `send`, on this channel and none that has taken its place. */
  sendOn(channel: WorkerChannel, frame: ChannelFrame): boolean {
    return channel.send(frame, this.config.streamBacklogBytes);
  }

  /** Sends what `token` names, once on each channel: after a reconnect it is sent again. False: it was told, or it cannot be now. */
  tellOnce(channel: WorkerChannel, token: string, frame: () => ChannelFrame): boolean {
    if (channel.hasTold(token) || !this.sendOn(channel, frame())) return false;
    channel.noteTold(token);
    return true;
  }

  /** The worker's channel, if it hangs here. */
  at(accountId: string, workerId: string): WorkerChannel | undefined {
    return this.byWorker.get(accountKey(accountId, workerId));
  }

  /** Whether a worker of the agent hangs here. */
  hasAny(accountId: string, agentId: string): boolean {
    return this.byAgent.has(accountKey(accountId, agentId));
  }

  /** Calls `listener` with each pong, before it is answered. */
  onPong(listener: PongListener): void {
    this.pongListeners.add(listener);
  }

  /** Calls `listener` for each new channel, a crowd of them one after the other. */
  onOpened(listener: OpenedListener): void {
    this.listeners.add(listener);
  }

  /** Every slot of the worker is taken: it gets no doorbells until it is free, or asks for work. */
  noteBusy(accountId: string, workerId: string): void {
    const channel = this.byWorker.get(accountKey(accountId, workerId));
    if (channel) channel.isBusy = true;
  }

  noteFree(accountId: string, workerId: string): void {
    this.byWorker.get(accountKey(accountId, workerId))?.noteAnswered();
  }

  /** The agents that have a worker hanging here. */
  agentsHere(): readonly { readonly accountId: string; readonly agentId: string }[] {
    return [...this.byAgent.values()];
  }

  all(): readonly WorkerChannel[] {
    return [...this.byWorker.values()];
  }

  /** Ends the channels whose token has died. */
  async endRevoked(): Promise<void> {
    await this.checkingTokens; // it may have asked before the last change
    this.checkingTokens ??= this.checkTokens().finally(() => (this.checkingTokens = undefined));
    await this.checkingTokens;
  }

  /** Ends the channels here that their workers' rows do not know any more, and learns which pongs others have heard. */
  async reconcile(channels: readonly WorkerChannel[]): Promise<void> {
    if (channels.length === 0) return;
    const rows = await recordedChannels(this.database, channels);
    const now = this.clock.monotonicMs();
    for (const row of rows) {
      const channel = this.byWorker.get(accountKey(row.account_id, row.id));
      if (channel?.isRecorded) this.compare(channel, row, now);
    }
  }

  private attach(speaker: Speaker, workerId: string, sink: EventSink): void {
    this.openings += 1;
    const opening = { nonce: `${this.replica.id}.${this.openings}`, at: this.clock.monotonicMs() };
    const channel = new WorkerChannel(speaker, workerId, opening, sink);
    if (this.replica.isDraining || !this.write(channel, KEEP_ALIVE_COMMENT)) return channel.end();
    const older = this.byWorker.get(channel.key);
    if (older) {
      channel.isBusy = older.isBusy;
      this.end(older);
    }
    this.byWorker.set(channel.key, channel);
    this.crewOf(channel).channels.add(channel);
    this.pings.add(channel);
    sink.signal.addEventListener('abort', () => this.forget(channel), { once: true });
    this.presence.heard(speaker, workerId, 'channel');
    this.records.noteOpened(channel);
  }

  private end(channel: WorkerChannel): void {
    channel.end();
    this.forget(channel);
  }

  /** Whoever closed it: called when the connection is over, and before, when it is we who end it. */
  private forget(channel: WorkerChannel): void {
    if (channel.closedAt !== undefined) return;
    channel.closedAt = this.clock.monotonicMs();
    channel.closedBy ??= this.replica.isDraining ? 'us' : 'worker';
    if (this.byWorker.get(channel.key) === channel) this.byWorker.delete(channel.key);
    const agentKey = accountKey(channel.accountId, channel.agentId);
    const crew = this.byAgent.get(agentKey);
    if (crew?.channels.delete(channel) && crew.channels.size === 0) this.byAgent.delete(agentKey);
    this.pings.remove(channel);
    this.records.noteClosed(channel);
  }

  /** Of those that may be rung, at most so many; lame ducks only where there are no others. */
  private freeOf({ channels }: Crew, atMost: number, now: number): WorkerChannel[] {
    const free: WorkerChannel[] = [];
    const lame: WorkerChannel[] = [];
    for (const channel of channels) {
      if (free.length === atMost) return free;
      if (!channel.mayBeRung(now) || this.isDark(channel, now)) continue;
      (channel.mode === 'lame_duck' ? lame : free).push(channel);
    }
    return [...free, ...lame].slice(0, atMost);
  }

  private crewOf({ accountId, agentId }: WorkerChannel): Crew {
    const agentKey = accountKey(accountId, agentId);
    const crew = this.byAgent.get(agentKey) ?? { accountId, agentId, channels: new Set() };
    this.byAgent.set(agentKey, crew);
    return crew;
  }

  private greet(channel: WorkerChannel): void {
    const { accountId, agentId, workerId } = channel;
    if (!this.replica.isAlone) this.announce(channel);
    for (const listener of this.listeners) listener(accountId, agentId, workerId);
  }

  /** Tells other replicas to look at what they have of the worker. Here there is nothing older left. */
  private announce({ key }: WorkerChannel): void {
    this.bus.poke('channel.opened', key);
    this.doubted.delete(key);
  }

  /** Looks again, together with what else is in doubt. */
  private doubt(key: string): void {
    if (!this.byWorker.has(key)) return;
    if (this.doubted.size === 0) setTimeout(() => void this.resolveDoubts(), 0);
    this.doubted.add(key);
  }

  private async resolveDoubts(): Promise<void> {
    const channels = [...this.doubted].flatMap((key) => this.byWorker.get(key) ?? []);
    this.doubted.clear();
    await this.reconcile(channels).catch((error: unknown) => {
      this.log.warn('channels could not be compared; the sweep does', { error: describeError(error) });
    });
  }

  private compare(channel: WorkerChannel, row: RecordedChannel, now: number): void {
    if (row.nonce !== channel.nonce || row.agent_id !== channel.agentId) return this.end(channel);
    channel.mode = row.mode;
    channel.dialect = row.dialect;
    if (row.is_closed) this.records.noteOpened(channel); // somebody took this replica for dead
    const pongAt = row.seconds_since_pong === null ? undefined : now - row.seconds_since_pong * 1_000;
    if (pongAt !== undefined && pongAt > channel.openedAt) channel.pongAt = Math.max(channel.pongAt ?? 0, pongAt);
  }

  private async checkTokens(): Promise<void> {
    const tokenIds = [...new Set(this.all().map(({ tokenId }) => tokenId))];
    if (tokenIds.length === 0) return;
    try {
      const valid = await this.credentials.valid(tokenIds);
      const asked = new Set(tokenIds);
      for (const channel of this.all()) {
        if (asked.has(channel.tokenId) && !valid.has(channel.tokenId)) this.end(channel);
      }
    } catch (error) {
      this.log.warn('the tokens of open channels could not be checked; the sweep does', {
        error: describeError(error),
      });
    }
  }

  /** A worker that answered pings on this channel and stopped may sit behind a dead connection: it claims, or it is away. */
  private isDark({ pongAt }: WorkerChannel, now: number): boolean {
    return pongAt !== undefined && isDarkAfter((now - pongAt) / 1_000, this.config.channelPingSeconds);
  }

  private write(channel: WorkerChannel, bytes: Buffer): boolean {
    return channel.write(bytes, this.config.streamBacklogBytes);
  }

  private frameId(): string {
    return newId('message', this.clock.nowMs());
  }
}
