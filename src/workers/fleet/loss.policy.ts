/** What a worker is holding; the one that could be harmed most counts. */
export type Holding = 'idle' | 'claimed' | 'running';

/**
 * Why a worker counts as lost (worker-protocol.md A4).
 * `closed_by_worker`: its side closed the channel and opened no other. `silent_without_channel`: it never had one, or we
 * closed it. `silent`: the channel stands and nothing is heard. `unacknowledged`: its machine takes no bytes any more.
 */
export type LossRule = 'closed_by_worker' | 'silent_without_channel' | 'silent' | 'unacknowledged';

/** The signs that tell a living worker from a lost one. All times are the database's. */
export interface LossSigns {
  readonly now: Date;
  /** Since when this deployment hears without a break: silence before it proves nothing. */
  readonly hearingSince: Date;
  readonly lastSeenAt: Date;
  readonly channelOpenedAt: Date | null;
  readonly channelClosedAt: Date | null;
  readonly channelClosedBy: 'worker' | 'us' | 'unknown' | null;
  readonly unackedSince: Date | null;
}

/** In seconds. */
export interface LossLimits {
  readonly closedOfferSeconds: number;
  readonly closedLostSeconds: number;
  readonly unackedSeconds: number;
  readonly presenceWindowSeconds: number;
  /** The agent's, where its policy names one. */
  readonly silentLimitSeconds: number;
}

export interface Loss {
  readonly rule: LossRule;
  /** When the limit was reached. */
  readonly at: Date;
}

/** The signs, and its agent's silent limit, as rows have them. */
export interface LossRow {
  readonly now: Date;
  readonly hearing_since: Date;
  readonly last_seen_at: Date;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: LossSigns['channelClosedBy'];
  readonly unacked_since: Date | null;
  /** Null: the installation's. */
  readonly silent_limit_seconds: number | null;
  /** Of presence, where the worker has one of its own. */
  readonly window_seconds: number | null;
}

/** What a row says, and the limits that it is held against. */
export function lossTermsIn<Limits extends LossLimits>(
  row: LossRow,
  limits: Limits,
): { readonly signs: LossSigns; readonly limits: Limits } {
  const signs = {
    now: row.now,
    hearingSince: row.hearing_since,
    lastSeenAt: row.last_seen_at,
    channelOpenedAt: row.channel_opened_at,
    channelClosedAt: row.channel_closed_at,
    channelClosedBy: row.channel_closed_by,
    unackedSince: row.unacked_since,
  };
  const own = {
    silentLimitSeconds: row.silent_limit_seconds ?? limits.silentLimitSeconds,
    presenceWindowSeconds: row.window_seconds ?? limits.presenceWindowSeconds,
  };
  return { signs, limits: { ...limits, ...own } };
}

/** When a worker is lost if nothing is heard of it, and by which rule: the earliest one. */
export function lossAheadOf(signs: LossSigns, holding: Holding, limits: LossLimits): Loss {
  const silence = silenceOf(signs, holding, limits);
  const { unackedSince } = signs;
  if (!hasChannel(signs) || !unackedSince) return silence;
  const at = after(latest(unackedSince, signs.hearingSince), limits.unackedSeconds);
  return at < silence.at ? { rule: 'unacknowledged', at } : silence;
}

/** The loss of a worker, if its time is over. */
export function lossOf(signs: LossSigns, holding: Holding, limits: LossLimits): Loss | undefined {
  const ahead = lossAheadOf(signs, holding, limits);
  return ahead.at <= signs.now ? ahead : undefined;
}

/**
 * A killed process closes its channel, and a living one opens the next a second later. A handler may block its process for
 * minutes while its channel stands: so a started run waits for the silent limit, unless its worker's side hung up.
 */
function silenceOf(signs: LossSigns, holding: Holding, limits: LossLimits): Loss {
  const { lastSeenAt, hearingSince, channelClosedAt, channelClosedBy } = signs;
  const heardAt = latest(lastSeenAt, hearingSince);
  const patience = holding === 'running' ? limits.silentLimitSeconds : limits.presenceWindowSeconds;
  if (hasChannel(signs)) return { rule: 'silent', at: after(heardAt, patience) };
  const since = latest(heardAt, channelClosedAt ?? heardAt);
  if (!channelClosedAt || channelClosedBy !== 'worker')
    return { rule: 'silent_without_channel', at: after(since, patience) };
  const seconds = holding === 'claimed' ? limits.closedOfferSeconds : limits.closedLostSeconds;
  return { rule: 'closed_by_worker', at: after(since, Math.min(seconds, patience)) };
}

function hasChannel({ channelOpenedAt, channelClosedAt }: LossSigns): boolean {
  return channelOpenedAt !== null && (channelClosedAt === null || channelClosedAt < channelOpenedAt);
}

function latest(one: Date, other: Date): Date {
  return one > other ? one : other;
}

function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1_000);
}
