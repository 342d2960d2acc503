import { invariant } from '../../platform/faults/faults.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

/** A run as it is handed out. */
export interface Job {
  readonly id: string;
  readonly agent_id: string;
  readonly attempt: number;
  readonly input: Readonly<Record<string, unknown>>;
  /** The state of the session that it goes on with. */
  readonly prior_snapshot: Readonly<Record<string, unknown>> | null;
  readonly event_id: string;
  readonly thread_id: string;
  readonly parent_run_id: string | null;
  readonly origin_kind: string;
  readonly origin_id: string | null;
  readonly request_id: string;
  readonly traceparent: string | null;
  readonly deadline: Date;
  /** What its agent's workers are configured with; null where nothing was ever set. */
  readonly config: {
    readonly version: string;
    readonly skills_version: string;
    readonly action_rules_version: string;
  } | null;
}

export interface HeldRun {
  readonly id: string;
  readonly status: 'claimed' | 'running';
  readonly attempt: number;
}

export interface ClaimResult {
  readonly job: Job | undefined;
  /** What the worker holds and did not name: it has lost these, and was given nothing until they are settled. */
  readonly lost: readonly HeldRun[];
  readonly isRegistered: boolean;
  /** Nothing was queued for anybody. What waits for others, or for its time, is no idleness. */
  readonly isIdle: boolean;
  /** Something is bound to the agent of the job, so secrets go out with it. */
  readonly hasSecrets: boolean;
  /** The agent or its account limits how many runs may be out: nothing was taken, the claim must be made under the limits' locks. */
  readonly isLimited: boolean;
}

/**
 * Which runs the asking worker may be given: the rules that `explain` shows (ours.md, codes of a candidate). A worker that is
 * about to leave (lame duck) takes what no other could. A worker that was offered the run, did not start it and was lost
 * leaves it to the others for a while.
 */
const MAY_TAKE = `
       (SELECT is_registered AND queue_state <> 'paused' AND mode IN ('normal', 'lame_duck') FROM asking)
   AND (run.not_before IS NULL OR run.not_before <= now())
   AND (run.first_claimed_at IS NULL OR run.first_claimed_at + make_interval(secs => (SELECT coalesce(run_limit_seconds, $6::float8) FROM asking)) > now())
   AND (run.require_version IS NULL OR run.require_version = (SELECT version FROM asking))
   AND (run.require_labels = '{}' OR (SELECT labels FROM asking) @> run.require_labels)
   AND (NOT run.needs_replay OR (SELECT can_replay FROM asking))
   AND (run.failed_offers = '{}' OR $3 <> ALL (run.failed_offers) OR run.waiting_since <= now() - make_interval(secs => $4))
   AND ((SELECT mode <> 'lame_duck' FROM asking) OR NOT EXISTS (
     SELECT FROM worker_presence AS other
      WHERE other.account_id = $1 AND other.agent_id = $2 AND other.id <> $3 AND other.mode = 'normal' AND other.registered_at IS NOT NULL
        AND other.last_seen_at > now() - make_interval(secs => coalesce(other.window_seconds, $5))
        AND (run.require_version IS NULL OR run.require_version = other.version) AND other.labels @> run.require_labels
        AND (NOT run.needs_replay OR other.can_replay)))`;
const IS_LIMITED = '(SELECT max_concurrent_runs IS NOT NULL OR concurrent_runs IS NOT NULL FROM asking)';
/** Exact, because whoever takes a run of a limited agent holds the locks of its limits. */
const IS_WITHIN_LIMITS = `
  (SELECT (max_concurrent_runs IS NULL OR max_concurrent_runs > (
             SELECT count(*) FROM run WHERE account_id = $1 AND agent_id = $2 AND status IN ('claimed', 'running')))
      AND (concurrent_runs IS NULL OR concurrent_runs > (
             SELECT count(*) FROM run WHERE account_id = $1 AND status IN ('claimed', 'running')))
     FROM asking)`;

/**
 * What is asked beside that when nobody asks for work, and a run goes to a worker that is dialled (worker-protocol.md A16): it has
 * waited, its worker has not asked for as long, and no channel of the agent lives by which a doorbell could bring somebody.
 */
const MAY_BE_DIALLED = `
       run.waiting_since <= now() - make_interval(secs => $10)
   AND EXISTS (
     SELECT FROM worker_presence AS dialled
      WHERE dialled.account_id = $1 AND dialled.id = $3 AND dialled.agent_id = $2 AND dialled.endpoint_url = $11
        AND (dialled.last_claim_at IS NULL OR dialled.last_claim_at < now() - make_interval(secs => $10)))
   AND NOT EXISTS (
     SELECT FROM worker_presence AS hanging
      WHERE hanging.account_id = $1 AND hanging.agent_id = $2 AND hanging.unacked_since IS NULL
        AND hanging.last_seen_at > now() - make_interval(secs => coalesce(hanging.window_seconds, $5))
        AND hanging.channel_opened_at IS NOT NULL
        AND (hanging.channel_closed_at IS NULL OR hanging.channel_closed_at < hanging.channel_opened_at))`;

interface Variant {
  readonly hasOneSlot: boolean;
  readonly isLocked: boolean;
  readonly isDialled: boolean;
}

/**
 * One statement: looks at what the worker holds, picks the oldest queued run that it may take and nobody else is picking, and
 * takes it with the next attempt and a free slot. `holds` are the runs that the worker says it is working on.
 * Two claims of one worker at once meet at the unique slot: one of them fails there and is made again. A run that we dialled
 * the worker for takes a slot of it, and is not lost because the worker asks for more.
 */
function claimText({ hasOneSlot, isLocked, isDialled }: Variant): string {
  const slot = hasOneSlot
    ? '0'
    : '(SELECT min(slot) FROM generate_series(0, $8::int - 1) AS slot WHERE slot NOT IN (SELECT slot FROM held))';
  const isNamed = isDialled ? 'true' : `dialled_by IS NOT NULL${hasOneSlot ? '' : ' OR id = ANY ($9::text[])'}`;
  const hasSlot = hasOneSlot
    ? 'NOT EXISTS (SELECT FROM held)'
    : `NOT EXISTS (SELECT FROM held WHERE NOT is_named) AND ${slot} IS NOT NULL`;
  return `
  WITH asking AS MATERIALIZED (
    SELECT coalesce(terms.queue_state, 'open') AS queue_state, terms.max_concurrent_runs, terms.run_limit_seconds, limits.concurrent_runs,
           worker.registered_at IS NOT NULL AS is_registered, coalesce(worker.mode, 'normal') AS mode,
           coalesce(worker.version, 'dev') AS version, coalesce(worker.labels, '{}') AS labels, coalesce(worker.can_replay, false) AS can_replay
      FROM (SELECT 1) AS always
      LEFT JOIN agent_terms AS terms ON terms.account_id = $1 AND terms.agent_id = $2
      LEFT JOIN account_limits AS limits ON limits.account_id = $1
      LEFT JOIN worker_presence AS worker ON worker.account_id = $1 AND worker.id = $3 AND worker.agent_id = $2),
  held AS MATERIALIZED (
    SELECT id, status, attempt, slot, ${isNamed} AS is_named
      FROM run WHERE account_id = $1 AND worker_id = $3 AND status IN ('claimed', 'running') AND slot IS NOT NULL),
  taken AS (
    UPDATE run SET status = 'claimed', attempt = attempt + 1, offers = offers + 1, worker_id = $3, slot = ${slot},
           claimed_at = now(), first_claimed_at = coalesce(first_claimed_at, now()), not_before = NULL, started_at = NULL,
           dialled_by = ${isDialled ? '$9' : 'NULL'}, last_seq = last_seq + 1
     WHERE account_id = $1 AND id = (
       SELECT id FROM run
        WHERE account_id = $1 AND agent_id = $2 AND status = 'queued' AND ${hasSlot}
          AND ${isLocked ? IS_WITHIN_LIMITS : `NOT ${IS_LIMITED}`} AND ${MAY_TAKE}${isDialled ? ` AND ${MAY_BE_DIALLED}` : ''}
        ORDER BY priority DESC, queued_at, id LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING account_id, id, day, last_seq, agent_id, attempt, input, prior_snapshot, event_id, thread_id, parent_run_id, origin_kind, origin_id,
              request_id, traceparent, first_claimed_at + make_interval(secs => (SELECT coalesce(run_limit_seconds, $6::float8) FROM asking)) AS deadline),
  logged AS (
    INSERT INTO run_log (account_id, run_id, day, seq, attempt, type, event)
    SELECT account_id, id, day, last_seq, attempt, 'run.status',
           json_build_object('status', 'claimed', 'attempt', attempt, 'worker_id', $3::text, 'code', NULL, 'detail', ${isDialled ? `json_build_object('path', 'direct')` : 'NULL'})
      FROM taken)
  SELECT taken.id, taken.agent_id, taken.attempt, taken.input, taken.prior_snapshot, taken.event_id, taken.thread_id, taken.parent_run_id, taken.origin_kind,
         taken.origin_id, taken.request_id, taken.traceparent, taken.deadline, asking.is_registered,
         CASE WHEN taken.id IS NOT NULL THEN (
           SELECT json_build_object('version', version, 'skills_version', skills_version, 'action_rules_version', action_rules_version)
             FROM agent_config_versions WHERE account_id = $1 AND agent_id = $2 ORDER BY revision DESC LIMIT 1) END AS config,
         ${isLocked ? 'false' : IS_LIMITED} AS is_limited,
         taken.id IS NULL AND NOT EXISTS (SELECT FROM run WHERE account_id = $1 AND agent_id = $2 AND status = 'queued') AS is_idle,
         CASE WHEN taken.id IS NULL THEN false ELSE EXISTS (
           SELECT FROM agent_binding WHERE account_id = $1 AND agent_ref IN ($2, $7)) END AS has_secrets,
         (SELECT json_agg(json_build_object('id', id, 'status', status, 'attempt', attempt)) FROM held WHERE NOT is_named) AS lost
    FROM asking LEFT JOIN taken ON true`;
}

/** Nearly all workers take one run at a time: for them the slot is known beforehand. */
const CLAIMS = [false, true].map((hasOneSlot) => variants({ hasOneSlot, isDialled: false }));
const DIALS = variants({ hasOneSlot: false, isDialled: true });

function variants(kind: Omit<Variant, 'isLocked'>): readonly string[] {
  return [false, true].map((isLocked) => claimText({ ...kind, isLocked }));
}

/** In one order, so that two claims do not wait for each other. */
const LOCK_LIMITS = `
  SELECT pg_advisory_xact_lock(hashtextextended(name, 0)) FROM unnest(ARRAY['limit of ' || $1, 'limit of ' || $1 || '/' || $2]) AS name`;

type ClaimRow = { readonly [Column in keyof Job]: Job[Column] | null } & {
  readonly lost: HeldRun[] | null;
  readonly is_registered: boolean;
  readonly is_limited: boolean;
  readonly is_idle: boolean;
  readonly has_secrets: boolean;
};

/** The row is there in any case, for what it says of the agent; its job only when one was taken. */
function hasJob(row: { readonly id: string | null }): row is Job {
  return row.id !== null;
}

export interface Claimant {
  readonly agentId: string;
  /** Its other name: bindings may use either. */
  readonly agentHandle: string | undefined;
  readonly workerId: string;
  readonly slots: number;
  readonly holds: readonly string[];
  /** Nobody asks: we do, to dial the worker with what is taken. */
  readonly dial?: Dial | undefined;
}

/** A worker that is to be dialled. */
export interface Dial {
  /** The replica that dials. */
  readonly replicaId: string;
  readonly endpointUrl: string;
  /** How long a run must have waited, and the worker not have asked for work. */
  readonly afterSeconds: number;
}

/** What holds for all claims of an installation, in seconds. */
export interface ClaimTerms {
  readonly failedOfferSeconds: number;
  readonly presenceWindowSeconds: number;
  readonly runLimitSeconds: number;
}

export async function claimRow(ctx: OpContext, claimant: Claimant, terms: ClaimTerms): Promise<ClaimResult> {
  const result = await claimOnce(ctx, claimant, terms, false);
  if (!result.isLimited || result.lost.length > 0) return result;
  await ctx.sql(LOCK_LIMITS, [ctx.actor.accountId, claimant.agentId]); // a statement of its own: the next one sees what was committed before
  return claimOnce(ctx, claimant, terms, true);
}

async function claimOnce(
  ctx: OpContext,
  { agentId, agentHandle, workerId, slots, holds, dial }: Claimant,
  { failedOfferSeconds, presenceWindowSeconds, runLimitSeconds }: ClaimTerms,
  isLocked: boolean,
): Promise<ClaimResult> {
  const hasOneSlot = slots === 1 && holds.length === 0;
  const text = (dial ? DIALS : CLAIMS[Number(hasOneSlot)])?.[Number(isLocked)] ?? '';
  const terms = [failedOfferSeconds, presenceWindowSeconds, runLimitSeconds];
  const asking = [ctx.actor.accountId, agentId, workerId, ...terms, agentHandle ?? agentId];
  const further = dial
    ? [slots, dial.replicaId, dial.afterSeconds, dial.endpointUrl]
    : hasOneSlot
      ? []
      : [slots, holds];
  const [row] = await ctx.sql<ClaimRow>(text, [...asking, ...further]);
  invariant(row, 'a claim always has an answer');
  const {
    lost,
    is_registered: isRegistered,
    is_limited: isLimited,
    is_idle: isIdle,
    has_secrets: hasSecrets,
    ...job
  } = row;
  return { job: hasJob(job) ? job : undefined, lost: lost ?? [], isRegistered, isLimited, isIdle, hasSecrets };
}
