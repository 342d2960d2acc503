import type { Database } from '../../platform/db/database.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Speaker } from '../presence/presence.service.ts';
import type { DirectFacts } from './direct.policy.ts';
import type { ClosedBy, Mode } from './lights.policy.ts';

/** A registered worker with the runs it holds. */
export interface WorkerRow extends DirectFacts {
  readonly id: string;
  readonly agent_id: string;
  readonly agent_name: string;
  readonly generation: number | null;
  readonly version: string;
  readonly sdk_version: string | null;
  readonly dialect: '0.1' | '0.2' | '0.3';
  readonly cluster_name: string | null;
  readonly namespace: string | null;
  readonly pod_name: string | null;
  readonly mode: Mode;
  readonly mode_since: Date | null;
  readonly max_concurrent: number;
  readonly registered_at: Date;
  readonly last_seen_at: Date;
  readonly last_path: 'heartbeat' | 'frame' | 'claim' | 'pong' | 'channel';
  readonly last_claim_at: Date | null;
  readonly last_pong_at: Date | null;
  readonly last_events_at: Date | null;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: ClosedBy | null;
  readonly unacked_since: Date | null;
  readonly token_is_valid: boolean;
  /** Its agent’s; null: the installation’s. */
  readonly silent_limit_seconds: number | null;
  /** How long a sign of life of it counts; null: the installation’s. */
  readonly window_seconds: number | null;
  /** Since when this deployment hears without a break. */
  readonly hearing_since: Date;
  /** The database's clock, which all of these times are compared with. */
  readonly now: Date;
  readonly runs: readonly HeldRun[];
  /** What lists are ordered by: microseconds since 1970. */
  readonly first_seen: string;
}

/** Times in it are text: they come out of JSON. */
export interface HeldRun {
  readonly run_id: string;
  readonly attempt: number;
  readonly status: string;
  readonly since: string;
  readonly started_at: string | null;
  readonly slot: number | null;
}

export interface WorkerDetailRow extends WorkerRow {
  readonly manifest: JsonObject | null;
  readonly claimed_handle: string | null;
  readonly direct_called_at: Date | null;
  readonly wanted_version: string | null;
  readonly config: { readonly applied_version?: string; readonly unsupported_ops?: string[] };
  readonly channel_replica: string | null;
  readonly round_trip_ms: number | null;
  readonly refused_frames: { readonly at: string; readonly type: string; readonly code: string }[];
  readonly health: { readonly ok: boolean; readonly detail: string | null; readonly at: string } | null;
  readonly models: { readonly base_url: string; readonly models: string[] }[];
  readonly token_expires_at: Date | null;
  readonly token_revoked_at: Date | null;
  readonly ids_of_process: string[];
}

export interface WorkerFilter {
  /** An id or a handle. */
  readonly agent: string | undefined;
  readonly text: string | undefined;
  readonly limit: number;
  /** Where the page before ended. */
  readonly after: { readonly micros: string; readonly id: string } | undefined;
}

const COLUMNS = `
  w.id, w.agent_id, coalesce(nullif(agent.name, ''), agent.handle, w.agent_id) AS agent_name, w.generation, w.version, w.sdk_version,
  w.dialect, w.endpoint_url, direct.outcome AS direct_outcome, direct.said AS direct_said, direct.called_at AS direct_called_at, said.cluster_name, said.namespace, said.pod_name, w.mode, w.mode_since, w.max_concurrent, w.registered_at, w.last_seen_at, w.last_path,
  w.last_claim_at, w.last_pong_at, w.last_events_at, w.channel_opened_at, w.channel_closed_at, w.channel_closed_by, w.unacked_since,
  terms.silent_limit_seconds, w.window_seconds, hearing.since AS hearing_since, coalesce(token.is_valid, false) AS token_is_valid, now() AS now, held.runs, (extract(epoch FROM w.first_seen_at) * 1000000)::bigint::text AS first_seen`;
const FROM = `FROM worker AS w
    CROSS JOIN hearing
    LEFT JOIN agent_terms AS terms ON terms.account_id = w.account_id AND terms.agent_id = w.agent_id
    LEFT JOIN agent_directory AS agent ON agent.account_id = w.account_id AND agent.id = w.agent_id
    LEFT JOIN worker_token_state AS token ON token.account_id = w.account_id AND token.id = w.token_id
    LEFT JOIN direct_state AS direct
      ON direct.dialled_account = w.account_id AND direct.dialled_worker = w.id AND direct.dialled_url = w.endpoint_url
    LEFT JOIN LATERAL jsonb_to_record(w.manifest) AS said(cluster_name text, namespace text, pod_name text) ON true
   CROSS JOIN LATERAL (
     SELECT coalesce(json_agg(json_build_object(
              'run_id', r.id, 'attempt', r.attempt, 'status', r.status, 'since', coalesce(r.started_at, r.claimed_at),
              'started_at', r.started_at, 'slot', r.slot) ORDER BY r.claimed_at, r.id), '[]') AS runs
       FROM run_facts AS r
      WHERE r.account_id = w.account_id AND r.worker_id = w.id AND r.agent_id = w.agent_id AND r.status IN ('claimed', 'running')) AS held
   WHERE w.account_id = $1 AND w.registered_at IS NOT NULL`;
const LIST = `
  SELECT ${COLUMNS} ${FROM}
     AND ($2::text IS NULL OR w.agent_id IN (SELECT id FROM agent_directory WHERE account_id = $1 AND (id = $2 OR handle = $2)))
     AND ($3::text IS NULL OR concat_ws(E'\\n', w.id, agent.name, agent.handle, said.pod_name, w.version) ILIKE $3)
     AND ($4::bigint IS NULL OR (w.first_seen_at, w.id) > (timestamptz 'epoch' + $4 * interval '1 microsecond', $5))
   ORDER BY w.first_seen_at, w.id LIMIT $6`;
const BY_IDS = `SELECT ${COLUMNS} ${FROM} AND w.id = ANY ($2)`;
const SHOW = `
  SELECT ${COLUMNS}, w.manifest, w.claimed_handle, w.config, w.channel_replica, w.round_trip_ms, w.refused_frames, w.health, w.models,
         (SELECT version FROM agent_config_versions WHERE account_id = w.account_id AND agent_id = w.agent_id ORDER BY revision DESC LIMIT 1) AS wanted_version,
         token.expires_at AS token_expires_at, token.revoked_at AS token_revoked_at,
         (SELECT array_agg(other.id ORDER BY other.first_seen_at, other.id) FROM worker AS other
           WHERE other.account_id = w.account_id AND other.agent_id = w.agent_id
             AND (other.id = w.id OR other.manifest ->> 'pod_name' = said.pod_name)) AS ids_of_process
    ${FROM} AND w.id = $2`;

export async function listWorkerRows(ctx: OpContext, filter: WorkerFilter): Promise<WorkerRow[]> {
  const { agent, text, after, limit } = filter;
  const containing = text === undefined ? null : `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`;
  const values = [agent ?? null, containing, after?.micros ?? null, after?.id ?? null, limit];
  return ctx.sql<WorkerRow>(LIST, [ctx.actor.accountId, ...values]);
}

export async function workerRowsById(ctx: OpContext, ids: readonly string[]): Promise<WorkerRow[]> {
  return ctx.sql<WorkerRow>(BY_IDS, [ctx.actor.accountId, ids]);
}

export async function showWorkerRow(ctx: OpContext, workerId: string): Promise<WorkerDetailRow | undefined> {
  return (await ctx.sql<WorkerDetailRow>(SHOW, [ctx.actor.accountId, workerId]))[0];
}

const MARK_REVOKED = `
  UPDATE worker SET token_revoked_at = now()
   WHERE account_id = $1 AND token_revoked_at IS NULL
     AND token_id IN (SELECT id FROM worker_token_state WHERE account_id = $1 AND revoked_at IS NOT NULL)`;

/** Marks the workers of an account whose token is dead. What the tokens are is read, not believed. */
export async function markRevoked(database: Database, accountId: string): Promise<void> {
  await database.asAccount(accountId, (transaction) => transaction.query({ text: MARK_REVOKED, values: [accountId] }));
}

const ANNOUNCE_DRAINING = `
  UPDATE worker SET mode = 'draining', mode_since = now(), mode_by = NULL, mode_reason = NULL
   WHERE account_id = $1 AND id = $2 AND agent_id = $3 AND mode <> 'draining' RETURNING id`;

/** Answers whether something changed: nothing of a worker that drains already, whoever asked for it. */
export async function announceDrainingRow(
  database: Database,
  { accountId, id: agentId }: Speaker,
  workerId: string,
): Promise<boolean> {
  const values = [accountId, workerId, agentId];
  const rows = await database.asAccount(accountId, (transaction) =>
    transaction.query({ text: ANNOUNCE_DRAINING, values }),
  );
  return rows.length > 0;
}

const FORGET_BATCH = 500;
const HOLDS_NOTHING = `NOT EXISTS (
         SELECT FROM run_facts AS r WHERE r.account_id = w.account_id AND r.worker_id = w.id AND r.status IN ('claimed', 'running'))`;
/** With what was asked of it, which nobody could look up any more. */
function forgetting(which: string): string {
  return `
  WITH gone AS (
    DELETE FROM worker WHERE (account_id, id) IN (SELECT account_id, id FROM worker AS w WHERE ${which}) RETURNING account_id, id),
  asked AS (DELETE FROM worker_action AS a USING gone WHERE a.account_id = gone.account_id AND a.worker_id = gone.id)
  SELECT id FROM gone`;
}
const FORGET = forgetting(`
       last_seen_at < now() - make_interval(days => $1) AND ${HOLDS_NOTHING} LIMIT ${FORGET_BATCH} FOR UPDATE SKIP LOCKED`);
/** Only as it was seen: if it was heard meanwhile, it stays. A Date knows milliseconds. */
const FORGET_ONE = forgetting(`
       account_id = $1 AND id = $2 AND date_trunc('milliseconds', last_seen_at) = $3 AND ${HOLDS_NOTHING} FOR UPDATE`);

/** False: it was heard again, or was handed a run. */
export async function forgetWorkerRow(ctx: OpContext, { id, last_seen_at }: WorkerRow): Promise<boolean> {
  return (await ctx.sql(FORGET_ONE, [ctx.actor.accountId, id, last_seen_at])).length > 0;
}

/** Removes workers that were silent for so many days and hold no run. Answers how many of a batch there were. */
export async function forgetSilent(database: Database, days: number): Promise<number> {
  const rows = await database.asSystem('forget silent workers', (system) =>
    system.query({ text: FORGET, values: [days] }),
  );
  return rows.length;
}

/** A worker as grants know it: it belongs to its agent. */
export const WORKER_RESOURCE = `
  SELECT w.id, NULL::text AS name, NULL::jsonb AS labels, json_build_array(json_build_object('kind', 'agent', 'id', o.id, 'name', o.handle, 'labels', o.labels)) AS parents
    FROM worker AS w JOIN agent_owner AS o ON o.account_id = w.account_id AND o.id = w.agent_id
   WHERE w.account_id = $1 AND w.id = $2`;
