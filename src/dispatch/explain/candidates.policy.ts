import { wireTime } from '../../platform/clock/clock.ts';
import type { Config } from '../../platform/config/config.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import {
  assess,
  directResult,
  type Assessment,
  exclusionOf,
  signLimits,
  wireLights,
  type Exclusion,
  type WorkerSigns,
} from '../../workers/index.ts';
import { after, laterOf, reason, type Because, type Reason, type ReasonCode } from './reasons.policy.ts';

/** A worker of the run's agent, with what of the claim's rules the database has decided. Times are the database's. */
export interface CrewRow extends Omit<WorkerSigns, 'runs'> {
  readonly id: string;
  readonly mode_by: string | null;
  readonly mode_reason: string | null;
  readonly version: string;
  readonly labels: JsonObject;
  readonly sdk_version: string | null;
  /** When its token was revoked, or expires. */
  readonly token_ended_at: Date | null;
  readonly runs: readonly (WorkerSigns['runs'][number] & { readonly run_id: string })[];
  readonly direct_called_at: Date | null;
  /** It is not dialled before. */
  readonly direct_retry_at: Date | null;
  readonly has_channel: boolean;
  readonly is_version: boolean;
  readonly is_labelled: boolean;
  readonly is_compatible: boolean;
  /** How many workers the agent has, those included that are not read. */
  readonly total: number;
  /** One of the agent's workers is online, in normal mode, and fits the run. */
  readonly has_other: boolean;
}

/** What a waiting run asks of a worker. */
export interface Asked {
  readonly now: Date;
  readonly waiting_since: Date;
  readonly require_version: string | null;
  readonly require_labels: JsonObject;
  readonly failed_offers: readonly string[];
}

export type Limits = Parameters<typeof signLimits>[0] & Pick<Config, 'failedOfferSeconds'>;

export interface Candidate {
  readonly worker_id: string;
  readonly eligible: boolean;
  readonly reason: Reason | null;
  readonly lights: ReturnType<typeof wireLights>;
}

/** Whether a worker would be given the run, and the rule that keeps it from it: of several the one that lasts longest. */
export function candidateOf(worker: CrewRow, run: Asked, limits: Limits): Candidate {
  const signs = signLimits(limits);
  const { lights, candidate } = assess(worker, signs);
  const isNeeded = worker.mode === 'lame_duck' && !worker.has_other; // it takes what no other could
  const standing = exclusionOf(isNeeded ? { ...candidate, mode: 'normal' } : candidate);
  const own =
    standing &&
    reason(
      standing.code,
      aboutWorker(standing, { worker, lights, lost: candidate.lost, direct: directResult(worker, signs.opened) }),
    );
  const found =
    own && ABOUT_THE_WORKER.includes(own.code)
      ? own
      : (mismatch(worker, run) ?? (standing?.isEligible ? null : own) ?? failedOffer(worker, run, limits) ?? own);
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
  readonly lights: Assessment['lights'];
  readonly lost: Assessment['candidate']['lost'];
  /** What came of dialling it; null where it gives no address. */
  readonly direct: string | null;
}

function aboutWorker({ code, since: known }: Exclusion, { worker, lights, lost, direct }: Told): Because {
  const since = known ?? worker.registered_at;
  const mode = { by: worker.mode_by, reason: worker.mode_reason };
  switch (code) {
    case 'worker.offline': {
      const why = lights.process.why ?? 'it is lost: nothing was heard of it since its channel failed';
      const detail = { last_seen_at: wireTime(worker.last_seen_at), rule: lost?.rule ?? null };
      return { since, detail, message: sentence(why) };
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
      return { since, ...notClaiming(lights.claim.why, direct) };
    case 'worker.busy': {
      const run_ids = worker.runs.flatMap(({ run_id, slot }) => (slot === null ? [] : [run_id]));
      return { since, detail: { run_ids }, message: `All its slots are taken (${worker.max_concurrent}).` };
    }
    case 'worker.channel_stale':
      return { since, message: `${sentence(lights.channel.why)} Its poll finds the run.` };
  }
}

function notClaiming(why: string | null, direct: string | null): Pick<Because, 'detail' | 'message'> {
  if (direct === null) return { message: sentence(why) };
  return { detail: { direct }, message: `${sentence(why)} Dialled: ${direct}.` };
}

function sentence(why: string | null): string {
  return why === null ? '' : `${why.charAt(0).toUpperCase()}${why.slice(1)}.`;
}
