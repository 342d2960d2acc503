import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { Config } from '../../platform/config/config.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import { isTerminal, type Move, type RunStatus } from '../../runs/index.ts';
import { lossAheadOf, lossTermsIn } from '../../workers/index.ts';
import { candidateOf, type Asked, type Candidate, type CrewRow, type Limits } from './candidates.policy.ts';
import type { RunExplanation } from './explain.contract.ts';
import { REASONS, after, laterOf, reason, type Change, type Reason, type ReasonCode } from './reasons.policy.ts';

/** A run, and the rules that it stands under; null for what stands at the installation's default. Times are the database's. */
export interface Standing extends Asked {
  readonly id: string;
  readonly agent_id: string;
  readonly status: RunStatus;
  readonly transport: string;
  readonly attempt: number;
  readonly offers: number;
  readonly worker_id: string | null;
  readonly not_before: Date | null;
  readonly claimed_at: Date | null;
  readonly started_at: Date | null;
  readonly finished_at: Date | null;
  readonly first_claimed_at: Date | null;
  readonly needs_replay: boolean;
  readonly end_code: string | null;
  readonly end_detail: JsonObject;
  readonly error: string | null;
  readonly error_source: 'worker' | 'platform' | null;
  readonly cancel_requested_at: Date | null;
  readonly cancel_acknowledged_at: Date | null;
  readonly cancel_reason: string | null;
  readonly hearing_since: Date;
  readonly silent_limit_seconds: number | null;
  readonly queue_state: 'open' | 'paused' | 'draining' | null;
  readonly queue_since: Date | null;
  readonly queue_changed_by: string | null;
  readonly queue_reason: string | null;
  readonly max_concurrent_runs: number | null;
  readonly queue_ttl_seconds: number | null;
  readonly run_limit_seconds: number | null;
  readonly invoke_unreachable_after_seconds: number | null;
  readonly concurrent_runs: number | null;
  /** How many runs of the agent are out, and when the last of them was taken; counted where there is a limit. */
  readonly agent_active: number;
  readonly agent_active_since: Date | null;
  readonly account_active: number;
  readonly account_active_since: Date | null;
  /** How many queued runs of the agent come before it. */
  readonly ahead: number;
  /** Of the worker that has it; null when that is gone. */
  readonly holder_seen_at: Date | null;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: 'worker' | 'us' | 'unknown' | null;
  readonly unacked_since: Date | null;
  readonly window_seconds: number | null;
  /** What somebody is asked to allow, the longest first. */
  readonly approvals: readonly AwaitedApproval[];
}

/** Times as JSON has them. */
export interface AwaitedApproval {
  readonly id: string;
  readonly tool_name: string;
  readonly asked_at: string;
  readonly expires_at: string;
}

export interface Known {
  readonly standing: Standing;
  readonly moves: readonly Move[];
  /** Of a queued run: its agent's workers, whoever could be given it first. */
  readonly crew: readonly CrewRow[];
}

type Terms = Limits & Pick<Config, 'offerSeconds' | 'runLimitSeconds' | 'queueTtlSeconds' | 'invokeUnreachableSeconds'>;

/** Why a run stands as it does: the first reason is the one to remove first, the others hold as well. */
export function explanationOf({ standing, moves, crew }: Known, terms: Terms): z.input<typeof RunExplanation> {
  const candidates = crew.map((worker) => candidateOf(worker, standing, terms));
  const [first, ...also] = reasonsOf({ standing, moves, crew }, candidates, terms);
  return {
    run_id: standing.id,
    status: standing.status,
    as_of: wireTime(standing.now),
    reason: first,
    also,
    candidates,
    candidates_total: crew[0]?.total ?? 0,
    history: historyOf(moves),
    transport: standing.transport,
  };
}

function reasonsOf(
  { standing: run, moves, crew }: Known,
  candidates: readonly Candidate[],
  terms: Terms,
): [Reason, ...Reason[]] {
  if (run.status === 'queued') return waiting({ standing: run, moves, crew }, candidates, terms);
  if (run.status === 'claimed') return [offered(run, terms)];
  if (run.status === 'running') return underway(run, terms);
  const end = ended(run);
  return isCancelling(run, terms) ? [cancelling(run), end] : [end];
}

/** A worker that is silent may never hear the word; what it waits for comes after that. */
function underway(run: Standing, terms: Terms): [Reason, ...Reason[]] {
  const works = isSilent(run, terms) ? silent(run, terms) : executing(run, terms);
  const asked = run.approvals.map((approval) => waitingForApproval(run, approval));
  const [first] = asked;
  if (first === undefined || works.code === 'silent') return [works, ...asked];
  return [first, ...asked.slice(1), works];
}

function waitingForApproval(run: Standing, approval: AwaitedApproval): Reason {
  const { id, tool_name } = approval;
  const at = new Date(approval.expires_at);
  return reason('waiting.approval', {
    since: new Date(approval.asked_at),
    at,
    detail: { ...holding(run), approval_id: id, tool_name },
    message: `It asks to use ${tool_name}, and waits for somebody to decide until ${wireTime(at)}.`,
  });
}

/** In the order in which a claim asks: what holds for all workers before what keeps one of them. */
function waiting(
  { standing: run, moves, crew }: Known,
  candidates: readonly Candidate[],
  terms: Terms,
): [Reason, ...Reason[]] {
  const [first, ...more] = [
    paused(run),
    backoff(run, moves),
    accountLimit(run),
    agentLimit(run),
    dialledAgain(run, candidates, crew),
    nobody(run, candidates, terms),
  ].filter((found) => found !== null);
  return first ? [first, ...more] : [handingOut(run, candidates)];
}

function paused(run: Standing): Reason | null {
  if (run.queue_state !== 'paused') return null;
  const { queue_changed_by: by, queue_reason: why } = run;
  const message = `The queue of its agent is paused${by === null ? '' : ` by ${by}`}${why === null ? '.' : `: ${why}`}`;
  return reason('queue.agent_paused', {
    since: run.queue_since ?? run.waiting_since,
    detail: { by, reason: why },
    message,
  });
}

function backoff({ now, not_before: at, waiting_since, attempt }: Standing, moves: readonly Move[]): Reason | null {
  if (at === null || at <= now) return null;
  const detail = { at: wireTime(at), attempt, after: moves.at(-1)?.code ?? null };
  const message = `Attempt ${attempt} did not succeed; the next one waits until ${wireTime(at)}.`;
  return reason('retry.backoff', { since: waiting_since, at, detail, message });
}

function accountLimit(run: Standing): Reason | null {
  const { concurrent_runs: limit, account_active: active } = run;
  if (limit === null || active < limit) return null;
  return reason('limit.account_concurrency', {
    since: laterOf(run.waiting_since, run.account_active_since),
    detail: { limit, active },
    message: `The account has ${active} runs out, and may have ${limit}.`,
  });
}

function agentLimit(run: Standing): Reason | null {
  const { max_concurrent_runs: limit, agent_active: active } = run;
  if (limit === null || active < limit) return null;
  return reason('limit.agent_concurrency', {
    since: laterOf(run.waiting_since, run.agent_active_since),
    detail: { limit, active },
    message: `The agent has ${active} runs out, and may have ${limit}.`,
  });
}

/** Nobody asks, and who could be dialled refused the connection. */
function dialledAgain({ now }: Standing, candidates: readonly Candidate[], crew: readonly CrewRow[]): Reason | null {
  if (candidates.some(({ eligible }) => eligible)) return null;
  const refused = crew.filter(
    ({ direct_outcome }, index) =>
      direct_outcome === 'unsent' && candidates[index]?.reason?.code === 'worker.not_claiming',
  );
  const [next] = refused.sort((one, other) => Number(one.direct_retry_at) - Number(other.direct_retry_at));
  if (!next) return null;
  const at = laterOf(now, next.direct_retry_at);
  const detail = { at: wireTime(at), worker_id: next.id, why: next.direct_said };
  const message = `Nothing could be sent to ${next.id} (${String(next.direct_said)}); it is dialled again at ${wireTime(at)}.`;
  return reason('direct.retrying', { since: next.direct_called_at ?? now, at, detail, message });
}

function nobody(run: Standing, candidates: readonly Candidate[], terms: Terms): Reason | null {
  const at = after(run.waiting_since, run.queue_ttl_seconds ?? terms.queueTtlSeconds);
  const detail = unreachable(run, terms);
  if (candidates.length === 0) {
    const message = 'No worker of its agent ever registered, or all were forgotten.';
    return reason('agent.no_worker', { since: run.waiting_since, at, detail, message });
  }
  if (candidates.some(({ eligible }) => eligible)) return null;
  const reasons = candidates.flatMap((one) => one.reason ?? []);
  const message = `None of its agent’s workers can take it now: ${counted(reasons)}.`;
  const since = laterOf(run.waiting_since, ...reasons.map((one) => new Date(one.since)));
  const found = reason('agent.no_eligible_worker', { since, at, detail, message });
  return { ...found, until_changed_by: [...changesOf(reasons), ...found.until_changed_by] };
}

/** An invoke gives up sooner than the queue. */
function unreachable(run: Standing, { invokeUnreachableSeconds }: Terms): JsonObject {
  if (run.transport !== 'api_sync' && run.transport !== 'api_sse') return {};
  return { unreachable_after_seconds: run.invoke_unreachable_after_seconds ?? invokeUnreachableSeconds };
}

function counted(reasons: readonly Reason[]): string {
  const counts = new Map<string, number>();
  for (const { code } of reasons) counts.set(code, (counts.get(code) ?? 0) + 1);
  return [...counts].map(([code, count]) => `${count} ${code}`).join(', ');
}

/** What would change one of the reasons, each said once; of two times the earlier. */
function changesOf(reasons: readonly Reason[]): Change[] {
  const changes = new Map<string, Change>();
  for (const change of reasons.flatMap((one) => one.until_changed_by)) {
    const key = `${change.kind} ${change.what}`;
    const known = changes.get(key);
    if (!known || (change.at !== null && (known.at === null || change.at < known.at))) changes.set(key, change);
  }
  return [...changes.values()];
}

function handingOut(run: Standing, candidates: readonly Candidate[]): Reason {
  const workers = candidates.filter(({ eligible }) => eligible).length;
  return reason('handing_out', {
    since: laterOf(run.waiting_since, run.not_before, run.queue_since),
    detail: { workers, ahead: run.ahead },
    message:
      run.ahead === 0
        ? `${workers} of its agent’s workers can take it; a doorbell or a poll is on the way.`
        : `${workers} of its agent’s workers can take it; ${run.ahead} runs come before it.`,
  });
}

function offered(run: Standing, { offerSeconds }: Terms): Reason {
  const since = run.claimed_at ?? run.waiting_since;
  return reason('offered', {
    since,
    at: after(since, offerSeconds),
    detail: holding(run),
    message: `${String(run.worker_id)} has it and has not said that it started.`,
  });
}

function executing(run: Standing, { runLimitSeconds }: Terms): Reason {
  const since = run.started_at ?? run.now;
  return reason('executing', {
    since,
    at: after(run.first_claimed_at ?? since, run.run_limit_seconds ?? runLimitSeconds),
    detail: holding(run),
    message: `${String(run.worker_id)} works on it.`,
  });
}

function isSilent(
  { now, holder_seen_at: seenAt, window_seconds: own }: Standing,
  { presenceWindowSeconds }: Terms,
): boolean {
  return seenAt === null || after(seenAt, own ?? presenceWindowSeconds) <= now;
}

function silent(run: Standing, terms: Terms): Reason {
  const since = run.holder_seen_at ?? run.started_at ?? run.now;
  const { signs, limits } = lossTermsIn({ ...run, last_seen_at: since }, terms);
  const { at, rule } = lossAheadOf(signs, 'running', limits);
  return reason('silent', {
    since,
    at,
    detail: { ...holding(run), rule },
    message: `Nothing was heard of ${String(run.worker_id)} since ${wireTime(since)}; it counts as lost at ${wireTime(at)}.`,
  });
}

function holding({ worker_id, attempt, offers }: Standing): JsonObject {
  return { worker_id, attempt, offers };
}

/** A worker that is gone will never confirm. */
function isCancelling(run: Standing, terms: Terms): boolean {
  return run.status === 'cancelled' && run.cancel_acknowledged_at === null && !isSilent(run, terms);
}

function cancelling(run: Standing): Reason {
  return reason('cancelling', {
    since: run.cancel_requested_at ?? run.finished_at ?? run.now,
    detail: { worker_id: run.worker_id, attempt: run.attempt, reason: run.cancel_reason },
    message: `It was cancelled here; ${String(run.worker_id)} has not confirmed that it stopped.`,
  });
}

/** What the worker itself said stands under `error` with `error_source: worker`; our own words never take its place. */
function ended(run: Standing): Reason {
  const code = endCode(run);
  const { worker_id, attempt, error, error_source } = run;
  const outcome = run.status === 'succeeded' ? {} : { error, error_source };
  const isConfirmed = run.cancel_acknowledged_at !== null;
  const cancel = run.status === 'cancelled' ? { reason: run.cancel_reason, confirmed: isConfirmed } : {};
  return reason(code, {
    since: run.finished_at ?? run.now,
    detail: { worker_id, attempt, offers: run.offers, ...outcome, ...cancel, ...run.end_detail },
    message: ENDS[code] ?? run.error ?? 'It has ended.',
  });
}

function endCode({ end_code, status }: Standing): ReasonCode {
  return end_code !== null && end_code in REASONS ? (end_code as ReasonCode) : (`end.${status}` as ReasonCode);
}

/** Where the run's error does not say it better. */
const ENDS: Readonly<Partial<Record<ReasonCode, string>>> = {
  'end.succeeded': 'Its worker reported the answer.',
  'end.failed': 'Its worker reported that it failed; the worker’s own error is in the detail.',
  'end.cancelled': 'It was cancelled by a caller.',
};

/** What happened to the run, in the same codes: each offer, each start, and why each attempt was over. */
function historyOf(moves: readonly Move[]): z.input<typeof RunExplanation>['history'] {
  const history = moves.map(({ at, status, code, worker_id, attempt, detail }, index) => ({
    at: wireTime(at),
    code: code ?? codeOf(status, moves[index - 1]?.status),
    worker_id: worker_id ?? (typeof detail['worker_id'] === 'string' ? detail['worker_id'] : null),
    attempt: attempt === 0 ? null : attempt,
  }));
  return history.slice(1); // the first is its making
}

function codeOf(status: RunStatus, before: RunStatus | undefined): ReasonCode {
  if (status === 'claimed') return 'offered';
  if (status === 'running') return 'executing';
  if (isTerminal(status)) return `end.${status}` as ReasonCode;
  return before === 'running' ? 'end.worker_lost' : 'worker.failed_offer';
}
