/**
 * What can be said of a worker: four lights, and whether it may be given work. Each light follows from signs of its own,
 * so one failing never dims another. Pure: every time, `now` included, is the database's.
 */

export type LightState = 'ok' | 'stale' | 'down' | 'unknown' | 'unused';

export interface Light {
  readonly state: LightState;
  /** When it became so, as far as that is known. */
  readonly since: Date | null;
  /** The newest sign that it goes by. */
  readonly lastAt: Date | null;
  /** What is wrong, for people; null where nothing is. */
  readonly why: string | null;
}

export interface Lights {
  readonly process: Light;
  readonly channel: Light;
  readonly claim: Light;
  readonly events: Light;
}

export type ClosedBy = 'worker' | 'us' | 'unknown';

/** What the lights go by. */
export interface Signs {
  readonly now: Date;
  readonly registeredAt: Date;
  readonly lastSeenAt: Date;
  readonly lastClaimAt: Date | null;
  readonly lastPongAt: Date | null;
  /** Its dialect has pings. */
  readonly hearsPings: boolean;
  readonly lastEventsAt: Date | null;
  readonly channelOpenedAt: Date | null;
  readonly channelClosedAt: Date | null;
  readonly channelClosedBy: ClosedBy | null;
  readonly slots: number;
  readonly slotsTaken: number;
  /** Since when it has a run that runs; null without one. */
  readonly runningSince: Date | null;
}

export interface Windows {
  readonly presenceSeconds: number;
  readonly claimSeconds: number;
  readonly pingSeconds: number;
}

/** No batch of a running run for so long is worth a look, and no more: a handler may have nothing to say. */
const EVENTS_STALE_SECONDS = 60;
/** A pong that another replica heard stands in the row after its next flush. */
const PONG_DELAY_SECONDS = 2;
/** Two pings unanswered are a hiccup, four a half-open socket; but a pong may take some seconds to be known everywhere. */
const STALE_PINGS = 2;
const DARK_PINGS = 4;
const SOONEST_DARK_SECONDS = 10;

export function lightsOf(signs: Signs, windows: Windows): Lights {
  return {
    process: processLight(signs, windows),
    channel: channelLight(signs, windows),
    claim: claimLight(signs, windows),
    events: eventsLight(signs),
  };
}

export type Mode = 'normal' | 'draining' | 'paused' | 'lame_duck';

/** Why a worker would not be given a run now, in the words of `explain`. */
export type ExcludedBy =
  | 'worker.offline'
  | 'worker.token_revoked'
  | 'worker.draining'
  | 'worker.paused'
  | 'worker.not_claiming'
  | 'worker.busy'
  | 'worker.lame_duck'
  | 'worker.channel_stale';

/** What decides whether a worker is given runs, whatever the runs ask for. */
export interface Candidate {
  readonly lights: Lights;
  /** By which rule of the worker protocol it is lost, and since when; null while it is not. */
  readonly lost: { readonly at: Date; readonly rule: string } | null;
  readonly isTokenValid: boolean;
  readonly mode: Mode;
  readonly modeSince: Date | null;
  /** It need not ask: runs are taken to it. */
  readonly isDialable: boolean;
  /** When its last slot was taken; null while one is free. */
  readonly busySince: Date | null;
}

export interface Exclusion {
  readonly code: ExcludedBy;
  readonly since: Date | null;
  /** It is given runs all the same: only doorbells do not reach it, its poll does. */
  readonly isEligible: boolean;
}

/**
 * The one rule that keeps runs from a worker: of several the one that lasts longest. Null when nothing does.
 * A lame duck counts as excluded; that it is given what nobody else can take is for whoever knows the others.
 */
export function exclusionOf(candidate: Candidate): Exclusion | null {
  const { lights, lost, isTokenValid, mode, modeSince, isDialable, busySince } = candidate;
  const isAsking = lights.claim.state === 'ok';
  if (lost || lights.process.state !== 'ok') return excluded('worker.offline', lost?.at ?? lights.process.since);
  if (!isTokenValid) return excluded('worker.token_revoked', null);
  if (mode === 'draining' || mode === 'paused') return excluded(`worker.${mode}`, modeSince);
  if (!isAsking && !isDialable) return excluded('worker.not_claiming', lights.claim.since);
  if (busySince) return excluded('worker.busy', busySince);
  if (mode === 'lame_duck') return excluded('worker.lame_duck', modeSince);
  if (lights.channel.state !== 'down' || !isAsking) return null;
  return { code: 'worker.channel_stale', since: lights.channel.since, isEligible: true };
}

/** Whether its agent counts as reachable by it. A busy worker makes it so. */
export function isAssignable(candidate: Candidate): boolean {
  const exclusion = exclusionOf(candidate);
  return candidate.mode === 'normal' && (!exclusion || exclusion.isEligible || exclusion.code === 'worker.busy');
}

/** Darkness is known only of a channel that was once answered on: some clients never answer a ping. */
export function isDarkAfter(secondsSincePong: number, pingSeconds: number): boolean {
  return secondsSincePong > Math.max(DARK_PINGS * pingSeconds, SOONEST_DARK_SECONDS);
}

function processLight({ now, registeredAt, lastSeenAt }: Signs, { presenceSeconds }: Windows): Light {
  if (secondsBetween(lastSeenAt, now) < presenceSeconds) return ok(registeredAt, lastSeenAt);
  const since = after(lastSeenAt, presenceSeconds);
  return { state: 'down', since, lastAt: lastSeenAt, why: `nothing was heard of it for ${presenceSeconds} s` };
}

function channelLight(signs: Signs, { pingSeconds }: Windows): Light {
  const { now, channelOpenedAt: openedAt, channelClosedAt: closedAt, lastPongAt } = signs;
  if (!openedAt) return { state: 'down', since: null, lastAt: null, why: 'it has opened no channel' };
  if (closedAt && closedAt >= openedAt) {
    return { state: 'down', since: closedAt, lastAt: lastPongAt, why: `its channel was closed by ${closerOf(signs)}` };
  }
  if (!lastPongAt || lastPongAt < openedAt) {
    const why = signs.hearsPings
      ? 'it has answered no ping on this channel'
      : 'its version of the protocol has no pings';
    return { state: 'unknown', since: openedAt, lastAt: lastPongAt, why };
  }
  const silence = secondsBetween(lastPongAt, now);
  if (silence <= STALE_PINGS * pingSeconds + PONG_DELAY_SECONDS) return ok(openedAt, lastPongAt);
  const state = isDarkAfter(silence, pingSeconds) ? 'down' : 'stale';
  return {
    state,
    since: after(lastPongAt, pingSeconds),
    lastAt: lastPongAt,
    why: 'its channel is open, but pings are not answered',
  };
}

function claimLight({ now, registeredAt, lastClaimAt, slots, slotsTaken }: Signs, { claimSeconds }: Windows): Light {
  if (slotsTaken >= slots) return ok(null, lastClaimAt);
  if (!lastClaimAt || lastClaimAt < registeredAt) {
    return { state: 'down', since: registeredAt, lastAt: null, why: 'it has not asked for work since it registered' };
  }
  if (secondsBetween(lastClaimAt, now) < claimSeconds) return ok(registeredAt, lastClaimAt);
  const since = after(lastClaimAt, claimSeconds);
  return { state: 'stale', since, lastAt: lastClaimAt, why: `it has not asked for work for ${claimSeconds} s` };
}

function eventsLight({ now, runningSince, lastEventsAt }: Signs): Light {
  if (!runningSince) return { state: 'unused', since: null, lastAt: lastEventsAt, why: null };
  const hasCome = lastEventsAt !== null && lastEventsAt >= runningSince;
  const quietSince = hasCome ? lastEventsAt : runningSince;
  if (secondsBetween(quietSince, now) > EVENTS_STALE_SECONDS) {
    const since = after(quietSince, EVENTS_STALE_SECONDS);
    return {
      state: 'stale',
      since,
      lastAt: lastEventsAt,
      why: `no events of its run came for ${EVENTS_STALE_SECONDS} s`,
    };
  }
  if (hasCome) return ok(runningSince, lastEventsAt);
  return { state: 'unknown', since: runningSince, lastAt: lastEventsAt, why: 'no events of its run have come yet' };
}

function closerOf({ channelClosedBy }: Signs): string {
  if (channelClosedBy === 'us') return 'the control plane';
  return channelClosedBy === 'worker' ? 'the worker’s side' : 'nobody knows whom';
}

function excluded(code: ExcludedBy, since: Date | null): Exclusion {
  return { code, since, isEligible: false };
}

function ok(since: Date | null, lastAt: Date | null): Light {
  return { state: 'ok', since, lastAt, why: null };
}

function secondsBetween(earlier: Date, later: Date): number {
  return (later.getTime() - earlier.getTime()) / 1_000;
}

function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1_000);
}
