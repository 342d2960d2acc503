import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { CrewRow } from './candidates.policy.ts';
import type { Standing } from './explain.policy.ts';

/** Counted no further; in the order of the index of live runs, so that the count walks no other. */
const AHEAD_MAX = 1_000;

const ACTIVE = `count(*)::int AS active, max(claimed_at) AS since FROM run_facts AS out
     WHERE out.account_id = run.account_id AND out.status IN ('claimed', 'running')`;
const STANDING = `
  SELECT now() AS now, hearing.since AS hearing_since, run.id, run.agent_id, run.status, run.transport, run.attempt, run.offers, run.worker_id,
         run.waiting_since, run.not_before, run.claimed_at, run.started_at, run.finished_at, run.first_claimed_at, run.require_version,
         run.require_labels, run.needs_replay, run.failed_offers, run.end_code, run.end_detail, run.error, run.error_source,
         run.cancel_requested_at, run.cancel_acknowledged_at, run.cancel_reason,
         terms.queue_state, terms.queue_since, terms.queue_changed_by, terms.queue_reason, terms.max_concurrent_runs, terms.queue_ttl_seconds,
         terms.run_limit_seconds, terms.silent_limit_seconds, terms.invoke_unreachable_after_seconds, limits.concurrent_runs,
         agent_load.active AS agent_active, agent_load.since AS agent_active_since, account_load.active AS account_active,
         account_load.since AS account_active_since, line.ahead, holder.last_seen_at AS holder_seen_at,
         holder.channel_opened_at, holder.channel_closed_at,
         holder.channel_closed_by, holder.unacked_since, holder.window_seconds, asked.approvals
    FROM run_facts AS run
   CROSS JOIN hearing
    LEFT JOIN agent_terms AS terms ON terms.account_id = run.account_id AND terms.agent_id = run.agent_id
    LEFT JOIN account_limits AS limits ON limits.account_id = run.account_id
    LEFT JOIN worker_presence AS holder ON holder.account_id = run.account_id AND holder.id = run.worker_id
   CROSS JOIN LATERAL (SELECT ${ACTIVE} AND out.agent_id = run.agent_id AND terms.max_concurrent_runs IS NOT NULL) AS agent_load
   CROSS JOIN LATERAL (SELECT ${ACTIVE} AND limits.concurrent_runs IS NOT NULL) AS account_load
   CROSS JOIN LATERAL (
     SELECT count(*)::int AS ahead FROM (
       SELECT FROM run_facts AS other
        WHERE run.status = 'queued' AND other.account_id = run.account_id AND other.agent_id = run.agent_id AND other.status = 'queued'
          AND (other.priority > run.priority OR (other.priority = run.priority AND (other.queued_at, other.id) < (run.queued_at, run.id)))
        ORDER BY other.priority DESC, other.queued_at, other.id LIMIT ${AHEAD_MAX}) AS before) AS line
   CROSS JOIN LATERAL (
     SELECT coalesce(json_agg(json_build_object('id', approval_id, 'tool_name', tool_name, 'asked_at', asked_at, 'expires_at', expires_at)
                              ORDER BY asked_at, approval_id), '[]') AS approvals
       FROM approval_awaited
      WHERE awaited_account = run.account_id AND awaited_run = run.id AND awaited_attempt = run.attempt AND run.status = 'running') AS asked
   WHERE run.account_id = $1 AND run.id = $2`;

/** A run, and the rules that it stands under. */
export async function readStanding(ctx: OpContext, runId: string): Promise<Standing | undefined> {
  return (await ctx.sql<Standing>(STANDING, [ctx.actor.accountId, runId]))[0];
}

/**
 * The workers of an agent, as many as are shown, with what of the claim's rules needs all of them or the database's operators.
 * Whoever nothing speaks against comes first: so if there is such a one, it is among those that are read.
 */
const CREW = `
  WITH crew AS (
    SELECT now() AS now, hearing.since AS hearing_since, terms.silent_limit_seconds, worker.id, worker.mode, worker.mode_since, worker.mode_by, worker.mode_reason, worker.version, worker.labels, worker.can_replay,
           worker.sdk_version, worker.dialect, worker.max_concurrent, worker.registered_at, worker.last_seen_at, worker.last_claim_at, worker.last_pong_at,
           worker.last_events_at, worker.channel_opened_at, worker.channel_closed_at, worker.channel_closed_by, worker.unacked_since, worker.window_seconds,
           coalesce(token.is_valid, false) AS token_is_valid, coalesce(token.revoked_at, token.expires_at) AS token_ended_at, worker.endpoint_url, direct.outcome AS direct_outcome, direct.said AS direct_said, direct.called_at AS direct_called_at,
           direct.retry_at AS direct_retry_at, held.runs, held.taken, ($3::text IS NULL OR worker.version = $3) AS is_version, worker.labels @> $4::jsonb AS is_labelled,
           NOT $5::boolean OR worker.can_replay AS is_compatible, worker.last_seen_at > now() - make_interval(secs => coalesce(worker.window_seconds, $6)) AS is_online
      FROM worker_presence AS worker
      LEFT JOIN worker_token_state AS token ON token.account_id = worker.account_id AND token.id = worker.token_id
      LEFT JOIN direct_state AS direct
        ON direct.dialled_account = worker.account_id AND direct.dialled_worker = worker.id AND direct.dialled_url = worker.endpoint_url
     CROSS JOIN hearing
      LEFT JOIN agent_terms AS terms ON terms.account_id = worker.account_id AND terms.agent_id = worker.agent_id
     CROSS JOIN LATERAL (
       SELECT coalesce(json_agg(json_build_object('run_id', run.id, 'since', coalesce(run.claimed_at, run.started_at),
                                                  'started_at', run.started_at, 'slot', run.slot)
                                ORDER BY run.claimed_at, run.id), '[]') AS runs,
              count(run.slot)::int AS taken
         FROM run_facts AS run
        WHERE run.account_id = worker.account_id AND run.worker_id = worker.id AND run.status IN ('claimed', 'running')) AS held
     WHERE worker.account_id = $1 AND worker.agent_id = $2 AND worker.registered_at IS NOT NULL)
  SELECT *, count(*) OVER ()::int AS total,
         coalesce(bool_or(mode = 'normal' AND is_online AND is_version AND is_labelled AND is_compatible) OVER (), false) AS has_other,
         coalesce(bool_or(is_online AND unacked_since IS NULL AND channel_opened_at IS NOT NULL
           AND (channel_closed_at IS NULL OR channel_closed_at < channel_opened_at)) OVER (), false) AS has_channel
    FROM crew
   ORDER BY is_online DESC, token_is_valid DESC, is_version DESC, is_labelled DESC, is_compatible DESC, taken < max_concurrent DESC,
            coalesce(last_claim_at > now() - make_interval(secs => $7), false) DESC, mode IN ('normal', 'lame_duck') DESC,
            id = ANY ($8::text[]), mode = 'normal' DESC, last_claim_at DESC NULLS LAST, id
   LIMIT 100`;

interface Windows {
  readonly presenceWindowSeconds: number;
  readonly claimWindowSeconds: number;
}

export async function readCrew(ctx: OpContext, run: Standing, windows: Windows): Promise<CrewRow[]> {
  const asked: JsonObject = run.require_labels;
  return ctx.sql<CrewRow>(CREW, [
    ctx.actor.accountId,
    run.agent_id,
    run.require_version,
    JSON.stringify(asked),
    run.needs_replay,
    windows.presenceWindowSeconds,
    windows.claimWindowSeconds,
    run.failed_offers,
  ]);
}
