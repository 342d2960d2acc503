/** How long things take and wait. Milliseconds all. */

import { once } from 'node:events';
import { setTimeout as timeout } from 'node:timers/promises';

export interface Timing {
  /** An idle worker asks for a run this often; the channel's doorbell makes it quicker. */
  readonly claimEvery: number;
  /** A sign of life while runs are under way (worker-protocol §7). */
  readonly keepAliveEvery: number;
  /** How long the control plane has to answer a request. */
  readonly answerWithin: number;
  /** After this much silence the channel is taken for dead; the control plane pings every 5 s. */
  readonly channelSilence: number;
  /** The first pause after something failed; it doubles with every failure. */
  readonly firstPause: number;
  /** The longest pause. */
  readonly longestPause: number;
  /**
   * How long what must arrive is repeated: events, reports, artifacts. The default is the time after which a control plane
   * gives up a silent worker (`silent_limit_seconds`), so that nothing later would be taken.
   */
  readonly persistence: number;
  /** Events leave in batches, this often. */
  readonly batchEvery: number;
  /** An undecided question is asked again this often: the channel's answer may be lost. */
  readonly askAgainEvery: number;
  /** How long a drain waits for the runs under way; then they are aborted and reported as failed. */
  readonly drainWithin: number;
  /** How long handlers that were aborted because the token is dead may take to end. */
  readonly abandonWithin: number;
}

export const TIMING: Timing = {
  claimEvery: 10_000,
  keepAliveEvery: 45_000,
  answerWithin: 30_000,
  channelSilence: 60_000,
  firstPause: 1_000,
  longestPause: 30_000,
  persistence: 900_000,
  batchEvery: 200,
  askAgainEvery: 20_000,
  drainWithin: 600_000,
  abandonWithin: 5_000,
};

/** Waits, or returns at once when `signal` is aborted. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await timeout(milliseconds, undefined, signal && { signal }).catch(() => undefined);
}

/** Resolves when `signal` is aborted. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}

/**
 * The pause after so many failures in a row: doubled each time, and anything from half of it to all of it, so that a
 * thousand workers of a restarted control plane do not come back in one moment.
 */
export function backOff(failures: number, { firstPause, longestPause }: Timing): number {
  const whole = Math.min(firstPause * 2 ** Math.min(Math.max(failures - 1, 0), 20), longestPause);
  return whole * (0.5 + Math.random() / 2);
}
