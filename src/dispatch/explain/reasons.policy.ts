import { wireTime } from '../../platform/clock/clock.ts';
import type { JsonObject } from '../../platform/json/json.ts';

export const CHANGES = [
  'worker_appears',
  'worker_frees',
  'worker_reports',
  'operator',
  'credential',
  'approval',
  'caller',
  'time',
  'nothing',
] as const;
export type ChangeKind = (typeof CHANGES)[number];

type Changes = Readonly<Partial<Record<ChangeKind, string | null>>>;

const ENDED: Changes = { nothing: null };
const ANOTHER_WORKER = 'a worker that fits registers';

/** The closed list of reasons (ours.md, runs), each with what would change it, in words. */
export const REASONS = {
  offered: { worker_reports: 'that it started', time: 'the offer limit' },
  executing: { worker_reports: 'the end', time: 'the run limit' },
  silent: { worker_reports: 'anything', time: 'the silent limit' },
  'waiting.approval': { approval: 'somebody decides', time: 'the approval expires' },
  'waiting.input': { caller: 'the caller answers' },
  cancelling: { worker_reports: 'that it stopped' },
  'agent.no_worker': { worker_appears: 'a worker registers', time: 'the time to live in the queue' },
  'agent.no_eligible_worker': { time: 'the time to live in the queue' },
  handing_out: { time: 'a doorbell, or the next poll of a worker' },
  'retry.backoff': { time: 'the pause is over' },
  'queue.agent_paused': { operator: 'the queue is resumed' },
  'queue.account_paused': { operator: 'the queue is resumed' },
  'limit.agent_concurrency': { worker_frees: 'a run of the agent ends', operator: 'the limit is raised' },
  'limit.account_concurrency': { worker_frees: 'a run of the account ends', operator: 'the limit is raised' },
  'account.suspended': { operator: 'the account is taken up again' },
  'direct.retrying': { time: 'the next try', worker_appears: 'another worker registers' },
  'worker.offline': { worker_appears: 'it is heard again' },
  'worker.not_claiming': { worker_reports: 'it asks for work' },
  'worker.channel_stale': { worker_reports: 'it opens a channel, or answers pings' },
  'worker.busy': { worker_frees: 'it ends one of its runs' },
  'worker.draining': { operator: 'it is resumed', worker_appears: 'its process comes back' },
  'worker.paused': { operator: 'it is resumed', worker_appears: 'its process comes back' },
  'worker.lame_duck': { operator: 'it is resumed', worker_appears: 'its process comes back' },
  'worker.version_mismatch': { worker_appears: ANOTHER_WORKER, caller: 'asks for another version' },
  'worker.label_mismatch': { worker_appears: ANOTHER_WORKER, caller: 'asks for other labels' },
  'worker.incompatible': { worker_appears: ANOTHER_WORKER },
  'worker.token_revoked': { operator: 'it is given a valid token' },
  'worker.failed_offer': { time: 'the others had their chance' },
  'end.succeeded': ENDED,
  'end.failed': ENDED,
  'end.cancelled': ENDED,
  'end.worker_lost': ENDED,
  'end.delivery_lost': ENDED,
  'end.undeliverable': ENDED,
  'end.unreachable': ENDED,
  'end.queue_ttl': ENDED,
  'end.run_limit': ENDED,
  'end.credential_disabled': ENDED,
  'end.job_refused': ENDED,
} as const satisfies Record<string, Changes>;

export type ReasonCode = keyof typeof REASONS;
export const REASON_CODES = Object.keys(REASONS) as [ReasonCode, ...ReasonCode[]];

export interface Change {
  readonly kind: ChangeKind;
  readonly what: string | null;
  readonly at: string | null;
}

export interface Reason {
  readonly code: ReasonCode;
  readonly since: string;
  readonly until_changed_by: Change[];
  readonly detail: JsonObject;
  readonly message: string;
}

export interface Because {
  /** Since when it is known to hold. */
  readonly since: Date;
  /** When time changes it, where that is known. */
  readonly at?: Date | undefined;
  readonly detail?: JsonObject;
  /** For people. */
  readonly message: string;
}

export function reason(code: ReasonCode, { since, at, detail = {}, message }: Because): Reason {
  const changes = Object.entries(REASONS[code]) as [ChangeKind, string | null][];
  return {
    code,
    since: wireTime(since),
    until_changed_by: changes.map(([kind, what]) => ({ kind, what, at: kind === 'time' && at ? wireTime(at) : null })),
    detail,
    message,
  };
}

export function laterOf(one: Date, ...others: readonly (Date | null)[]): Date {
  return others.reduce<Date>((latest, other) => (other && other > latest ? other : latest), one);
}

export function after(at: Date, seconds: number): Date {
  return new Date(at.getTime() + seconds * 1_000);
}
