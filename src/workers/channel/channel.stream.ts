import { accountKey } from '../../platform/bus/keys.ts';
import { serverSentEvent, type EventSink } from '../../platform/http/live-stream.ts';
import type { Mode } from '../fleet/lights.policy.ts';
import type { Dialect } from '../registration/dialect.policy.ts';
import type { Speaker } from '../presence/presence.service.ts';
import type { Endpoints } from './unacked.policy.ts';

/** An envelope of the worker protocol, as it goes down a channel. Any other key would make the SDK drop it. */
export interface ChannelFrame {
  readonly id: string;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly needsReply?: boolean;
}

/** The bytes of a frame, to be written to as many channels as should have it. SDK 0.2.0 reads no other event than `frame`. */
export function frameBytes(frame: ChannelFrame): Buffer {
  return Buffer.from(serverSentEvent('frame', JSON.stringify(frame)));
}

/**
 * What SDK 0.1 reads instead: an event of the frame's type with flat data; undefined for what it does not know. A doorbell
 * does not name the agent, since it is passed over unless it has the name that the author gave the agent.
 */
function eventBytes({ type, payload }: ChannelFrame): Buffer | undefined {
  if (type === 'work_available') return Buffer.from(serverSentEvent(type, '{}'));
  if (type !== 'cancel') return undefined;
  return Buffer.from(serverSentEvent(type, JSON.stringify({ run_id: payload['run_id'] })));
}

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 16_000;

/**
 * The open downlink of one worker. Ten thousand of them hang on one process, so it is fields and nothing else: no timer,
 * no promise. Times are this process's monotonic milliseconds.
 */
export class WorkerChannel {
  readonly accountId: string;
  readonly agentId: string;
  readonly tokenId: string;
  readonly workerId: string;
  /** Tells this opening apart from every other one of the same worker. */
  readonly nonce: string;
  readonly openedAt: number;
  /** Where its worker id stands in the maps of this replica. */
  readonly key: string;
  /** Its row says that it is the worker's channel. */
  isRecorded = false;
  isBusy = false;
  /** The worker's, as its row was last read. */
  mode: Mode = 'normal';
  /** As its row was last read. */
  dialect: Dialect = '0.2';
  /** When its row was written, the worker was still to be told something. */
  hasOrders = false;
  pongAt: number | undefined;
  closedAt: number | undefined;
  closedBy: 'worker' | 'us' | undefined;
  /** Since when its bytes are not acknowledged, as far as it was looked at; undefined while they are. */
  unackedAt: number | undefined;
  /** The worker's row says so. */
  isUnackedRecorded = false;
  private rings = 0;
  private rungAt = 0;
  private told: Set<string> | undefined;
  private readonly sink: EventSink;

  constructor(
    speaker: Speaker,
    workerId: string,
    opening: { readonly nonce: string; readonly at: number },
    sink: EventSink,
  ) {
    this.accountId = speaker.accountId;
    this.agentId = speaker.id;
    this.tokenId = speaker.credentialId;
    this.workerId = workerId;
    this.nonce = opening.nonce;
    this.openedAt = opening.at;
    this.key = accountKey(this.accountId, workerId);
    this.sink = sink;
  }

  /** Before its row was read nobody knows; every dialect takes a comment. */
  get hearsPings(): boolean {
    return this.isRecorded && this.dialect !== '0.1';
  }

  /** Its two ends, as the kernel knows them; undefined when it is over. */
  get endpoints(): Endpoints | undefined {
    const { localAddress, localPort, remoteAddress, remotePort } = this.sink.socket ?? {};
    if (localAddress === undefined || localPort === undefined) return undefined;
    if (remoteAddress === undefined || remotePort === undefined) return undefined;
    return { localAddress, localPort, remoteAddress, remotePort };
  }

  /** As `write`; false also for what the worker's dialect has no words for. */
  send(frame: ChannelFrame, backlogBytes: number): boolean {
    const bytes = this.dialect === '0.1' ? eventBytes(frame) : frameBytes(frame);
    return bytes !== undefined && this.write(bytes, backlogBytes);
  }

  /** False when nothing was written: it is over, or its reader is more than `backlogBytes` behind and was cut off. */
  write(bytes: Buffer, backlogBytes: number): boolean {
    if (this.closedBy || this.sink.signal.aborted || !this.sink.socket || this.sink.socket.destroyed) return false;
    if (this.sink.pendingBytes > backlogBytes) {
      this.closedBy = 'us';
      this.sink.destroy();
      return false;
    }
    this.sink.write(bytes);
    return true;
  }

  /** Ends without a word, since 0.2.0 would read a goodbye as a frame. Who does not read is not waited for. */
  end(): void {
    this.closedBy ??= 'us';
    if (this.sink.pendingBytes > 0) this.sink.destroy();
    else this.sink.end();
  }

  /** A doorbell that no claim followed is rung again more and more seldom: the worker may be busy, which another replica knows. */
  mayBeRung(now: number): boolean {
    if (this.isBusy || this.mode === 'draining' || this.mode === 'paused') return false;
    if (this.rings === 0) return true;
    return now - this.rungAt >= Math.min(FIRST_WAIT_MS * 2 ** (this.rings - 1), LONGEST_WAIT_MS);
  }

  noteRung(now: number): void {
    this.rings += 1;
    this.rungAt = now;
  }

  /** Whether this channel has carried what `token` names. */
  hasTold(token: string): boolean {
    return this.told?.has(token) ?? false;
  }

  noteTold(token: string): void {
    (this.told ??= new Set()).add(token);
  }

  /** It asks for work, or has just ended some. */
  noteAnswered(): void {
    this.rings = 0;
    this.isBusy = false;
  }
}
