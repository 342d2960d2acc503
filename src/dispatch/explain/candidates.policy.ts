import { wireTime } from '../../platform/clock/clock.ts';
import type { Config } from '../../platform/config/config.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import {
  exclusionOf,
  lightsOf,
  lossOf,
  wireLights,
  type Candidate as Crewman,
  type Exclusion,
  type Lights,
  type LossSigns,
} from '../../workers/index.ts';
import { after, laterOf, reason, type Because, type Reason, type ReasonCode } from './reasons.policy.ts';

/** A worker of the run's agent, with what of the claim's rules the database has decided. Times are the database's. */
export interface CrewRow {
  readonly id: string;
  readonly mode: Crewman['mode'];
  readonly mode_since: Date | null;
  readonly mode_by: string | null;
  readonly mode_reason: string | null;
  readonly version: string;
  readonly labels: JsonObject;
  readonly sdk_version: string | null;
  readonly max_concurrent: number;
  readonly registered_at: Date;
  readonly last_seen_at: Date;
  readonly last_claim_at: Date | null;
  readonly last_pong_at: Date | null;
  readonly last_events_at: Date | null;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: 'worker' | 'us' | 'unknown' | null;
  readonly unacked_since: Date | null;
  readonly is_token_valid: boolean;
  /** When its token was revoked, or expires. */
  readonly token_ended_at: Date | null;
  readonly runs: readonly CrewRun[];
  /** How many of its slots are. */
  readonly taken: number;
  readonly is_version: boolean;
  readonly is_labelled: boolean;
  readonly is_compatible: boolean;
  /** How many workers the agent has, those included that are not read. */
  readonly total: number;
  /** One of the agent's workers is online, in normal mode, and fits the run. */
  readonly has_other: boolean;
}

/** Times in it are text: they come out of JSON. */
export interface CrewRun {
  readonly run_id: string;
  readonly status: 'claimed' | 'running';
  readonly claimed_at: string;
  readonly started_at: string | null;
  readonly has_slot: boolean;
}

/** What a waiting run asks of a worker. */
export interface Asked {
  readonly now: Date;
  readonly hearing_since: Date;
  readonly waiting_since: Date;
  readonly require_version: string | null;
  readonly require_labels: JsonObject;
  readonly failed_offers: readonly string[];
  readonly silent_limit_seconds: number | null;
}

export type Limits = Pick<
  Config,
  | 'presenceWindowSeconds'
  | 'claimWindowSeconds'
  | 'channelPingSeconds'
  | 'failedOfferSeconds'
  | 'closedOfferSeconds'
  | 'closedLostSeconds'
  | 'unackedSeconds'
  | 'silentLimitSeconds'
>;

export interface Candidate {
  readonly worker_id: string;
  readonly eligible: boolean;
  readonly reason: Reason | null;
  readonly lights: ReturnType<typeof wireLights>;
}

/** Whether a worker would be given the run, and the rule that keeps it from it: of several the one that lasts longest. */
export function candidateOf(worker: CrewRow, run: Asked, limits: Limits): Candidate {
  const lights = lightsFor(worker, run, limits);
  const found = exclusion(worker, lights, run, limits);
  return {
    worker_id: worker.id,
    eligible: found === null || found.code === 'worker.channel_stale',
    reason: found,
    lights: wireLights(lights),
  };
}

/** Nothing that the run could ask for would help. */
const ABOUT_THE_WORKER: readonly ReasonCode[] = [
  'worker.offline',
  'worker.token_revoked',
  'worker.draining',
  'worker.paused',
];

function exclusion(worker: CrewRow, lights: Lights, run: Asked, limits: Limits): Reason | null {
  const standing = exclusionOf(standingOf(worker, lights, run, limits));
  const own = standing && reason(standing.code, aboutWorker(standing.code, standing.since, { worker, lights }));
  if (own && ABOUT_THE_WORKER.includes(own.code)) return own;
  return mismatch(worker, run) ?? (standing?.isEligible ? null : own) ?? failedOffer(worker, run, limits) ?? own;
}

function standingOf(worker: CrewRow, lights: Lights, run: Asked, limits: Limits): Crewman {
  const held = worker.runs.flatMap(({ claimed_at, has_slot }) => (has_slot ? [Date.parse(claimed_at)] : []));
  const isNeeded = worker.mode === 'lame_duck' && !worker.has_other; // it takes what no other could
  const silentLimitSeconds = run.silent_limit_seconds ?? limits.silentLimitSeconds;
  return {
    lights,
    lost: lossOf(lossSignsOf(worker, run), holdingOf(worker), { ...limits, silentLimitSeconds }) ?? null,
    isTokenValid: worker.is_token_valid,
    mode: isNeeded ? 'normal' : worker.mode,
    modeSince: worker.mode_since,
    busySince: worker.taken < worker.max_concurrent ? null : new Date(Math.max(...held)),
  };
}

function mismatch(worker: CrewRow, run: Asked): Reason | null {
  const since = laterOf(worker.registered_at, run.waiting_since);
  if (!worker.is_version) {
    const detail = { required: run.require_version, offered: worker.version };
    const message = `It is version ${worker.version}; the run asks for ${String(run.require_version)}.`;
    return reason('worker.version_mismatch', { since, detail, message });
  }
  if (!worker.is_labelled) {
    const missing = Object.keys(run.require_labels).filter((key) => worker.labels[key] !== run.require_labels[key]);
    const detail = { required: run.require_labels, offered: worker.labels, missing };
    const message = `It lacks labels that the run asks for: ${missing.join(', ')}.`;
    return reason('worker.label_mismatch', { since, detail, message });
  }
  if (!worker.is_compatible) {
    const because = 'the run is a replay, and the worker does not offer to answer tool calls from a recording';
    const detail = { because, sdk_version: worker.sdk_version };
    return reason('worker.incompatible', { since, detail, message: `Its SDK could not take this job: ${because}.` });
  }
  return null;
}

function failedOffer(worker: CrewRow, run: Asked, { failedOfferSeconds }: Limits): Reason | null {
  const at = after(run.waiting_since, failedOfferSeconds);
  if (!run.failed_offers.includes(worker.id) || at <= run.now) return null;
  return reason('worker.failed_offer', {
    since: run.waiting_since,
    at,
    message: `It was offered this run and did not start it; for ${failedOfferSeconds} s the others come first.`,
  });
}

interface Told {
  readonly worker: CrewRow;
  readonly lights: Lights;
}

function aboutWorker(code: Exclusion['code'], known: Date | null, { worker, lights }: Told): Because {
  const since = known ?? worker.registered_at;
  const mode = { by: worker.mode_by, reason: worker.mode_reason };
  switch (code) {
    case 'worker.offline': {
      const why = lights.process.why ?? 'it is lost: its channel is gone, and nothing was heard of it since';
      return { since, detail: { last_seen_at: wireTime(worker.last_seen_at) }, message: sentence(why) };
    }
    case 'worker.token_revoked':
      return { since: worker.token_ended_at ?? since, message: 'Its token was revoked or has expired.' };
    case 'worker.draining':
      return { since, detail: mode, message: 'It is leaving, and takes no more work.' };
    case 'worker.paused':
      return { since, detail: mode, message: 'It is paused, and takes no more work.' };
    case 'worker.lame_duck':
      return { since, detail: mode, message: 'It is about to leave, and another worker that fits is there.' };
    case 'worker.not_claiming':
      return { since, message: sentence(lights.claim.why ?? 'it does not ask for work') };
    case 'worker.busy': {
      const run_ids = worker.runs.flatMap(({ run_id, has_slot }) => (has_slot ? [run_id] : []));
      return { since, detail: { run_ids }, message: `All its slots are taken (${worker.max_concurrent}).` };
    }
    case 'worker.channel_stale':
      return { since, message: `${sentence(lights.channel.why ?? 'its channel is stale')} Its poll finds the run.` };
  }
}

function sentence(why: string): string {
  return `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
}

function lightsFor(worker: CrewRow, { now }: Asked, limits: Limits): Lights {
  const running = worker.runs.flatMap(({ started_at }) => (started_at === null ? [] : [Date.parse(started_at)]));
  const signs = {
    now,
    registeredAt: worker.registered_at,
    lastSeenAt: worker.last_seen_at,
    lastClaimAt: worker.last_claim_at,
    lastPongAt: worker.last_pong_at,
    lastEventsAt: worker.last_events_at,
    channelOpenedAt: worker.channel_opened_at,
    channelClosedAt: worker.channel_closed_at,
    channelClosedBy: worker.channel_closed_by,
    slots: worker.max_concurrent,
    slotsTaken: worker.taken,
    runningSince: running.length === 0 ? null : new Date(Math.min(...running)),
  };
  return lightsOf(signs, {
    presenceSeconds: limits.presenceWindowSeconds,
    claimSeconds: limits.claimWindowSeconds,
    pingSeconds: limits.channelPingSeconds,
  });
}

function lossSignsOf(worker: CrewRow, { now, hearing_since }: Asked): LossSigns {
  return {
    now,
    hearingSince: hearing_since,
    lastSeenAt: worker.last_seen_at,
    channelOpenedAt: worker.channel_opened_at,
    channelClosedAt: worker.channel_closed_at,
    channelClosedBy: worker.channel_closed_by,
    unackedSince: worker.unacked_since,
  };
}

function holdingOf({ runs }: CrewRow): 'idle' | 'claimed' | 'running' {
  if (runs.length === 0) return 'idle';
  return runs.some(({ status }) => status === 'running') ? 'running' : 'claimed';
}
