import type { Database } from '../../platform/db/database.ts';
import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Place } from '../../platform/operation/cursor.ts';
import type { Mode } from '../fleet/lights.policy.ts';
import type { Dialect } from '../registration/dialect.policy.ts';
import type { Action, Hearer, OpenAction } from './actions.policy.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

/** An action as it is shown. */
export interface ActionRow {
  readonly id: string;
  readonly worker_id: string;
  readonly action: Action;
  readonly state: 'sent' | 'acknowledged' | 'declined' | 'done' | 'expired';
  readonly detail: string | null;
  readonly created_at: Date;
  readonly acked_at: Date | null;
  readonly done_at: Date | null;
  readonly created_by: string;
  readonly reason: string | null;
  /** What lists are ordered by: microseconds since 1970. */
  readonly micros: string;
}

/** The worker that something is asked of. */
export interface TargetRow extends Hearer {
  readonly agent_id: string;
  readonly has_channel: boolean;
}

const TARGET = `
  SELECT agent_id, dialect, sdk_version,
         channel_opened_at IS NOT NULL AND (channel_closed_at IS NULL OR channel_closed_at < channel_opened_at) AS has_channel
    FROM worker WHERE account_id = $1 AND id = $2 AND registered_at IS NOT NULL`;

/** Undefined for a worker that never registered. */
export async function targetRow({ actor, sql }: Asking, workerId: string): Promise<TargetRow | undefined> {
  return (await sql<TargetRow>(TARGET, [actor.accountId, workerId]))[0];
}

const SHOWN = `id, worker_id, action, state, detail, created_at, acked_at, done_at, created_by, reason,
  (extract(epoch FROM created_at) * 1000000)::bigint::text AS micros`;
const ASK = `
  INSERT INTO worker_action (account_id, id, worker_id, agent_id, action, params, reason, created_by, state, done_at)
  VALUES ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, CASE WHEN $9 THEN 'done' ELSE 'sent' END, CASE WHEN $9 THEN now() END)
  RETURNING ${SHOWN}`;

export interface NewAction {
  readonly id: string;
  readonly workerId: string;
  readonly agentId: string;
  readonly action: Action;
  readonly params: JsonObject;
  readonly reason: string | null;
  /** It needs nobody to be told. */
  readonly isDone: boolean;
}

export async function insertAction({ actor, sql }: Asking, action: NewAction): Promise<ActionRow[]> {
  const { id, workerId, agentId, params, reason, isDone } = action;
  const values = [id, workerId, agentId, action.action, writeJson(params), reason, actor.id, isDone];
  return sql<ActionRow>(ASK, [actor.accountId, ...values]);
}

const SET_MODE = `
  UPDATE worker SET mode = $3, mode_since = CASE WHEN mode = $3 THEN mode_since ELSE now() END, mode_by = $4, mode_reason = $5
   WHERE account_id = $1 AND id = $2`;

export async function setMode(
  { actor, sql }: Asking,
  workerId: string,
  mode: Mode,
  reason: string | null,
): Promise<void> {
  await sql(SET_MODE, [actor.accountId, workerId, mode, actor.id, reason]);
}

const LIST = `
  SELECT ${SHOWN} FROM worker_action
   WHERE account_id = $1 AND worker_id = $2
     AND ($3::bigint IS NULL OR (created_at, id) < (timestamptz 'epoch' + $3 * interval '1 microsecond', $4))
   ORDER BY created_at DESC, id DESC LIMIT $5`;

export async function listActionRows(
  { actor, sql }: Asking,
  workerId: string,
  page: { readonly after: Place | undefined; readonly limit: number },
): Promise<ActionRow[]> {
  return sql<ActionRow>(LIST, [
    actor.accountId,
    workerId,
    page.after?.micros ?? null,
    page.after?.id ?? null,
    page.limit,
  ]);
}

const OF_MINE = 'account_id = $1 AND worker_id = $2 AND agent_id = $3';
/** A worker that restarts takes nothing more, whatever doorbell rings in its last seconds. */
const ACKNOWLEDGE = `
  WITH acked AS (
    UPDATE worker_action SET acked_at = now(), detail = $6, state = CASE WHEN $5 THEN 'acknowledged' ELSE 'declined' END,
           done_at = CASE WHEN $5 THEN NULL ELSE now() END
     WHERE ${OF_MINE} AND id = $4 AND action = 'drain_restart' AND state = 'sent'
    RETURNING account_id, worker_id, created_by, reason)
  UPDATE worker SET mode = 'draining', mode_since = now(), mode_by = acked.created_by, mode_reason = acked.reason
    FROM acked
   WHERE worker.account_id = acked.account_id AND worker.id = acked.worker_id AND worker.mode <> 'draining' AND $5
  RETURNING worker.id`;

/** Answers whether the worker drains from now on. */
export async function noteAcknowledged(
  { actor, sql }: Asking,
  workerId: string,
  answer: { readonly actionId: string; readonly accepted: boolean; readonly detail: string | null },
): Promise<boolean> {
  const { actionId, accepted, detail } = answer;
  return (await sql(ACKNOWLEDGE, [actor.accountId, workerId, actor.id, actionId, accepted, detail])).length > 0;
}

const CLOSE_HEALTH = `
  UPDATE worker_action SET state = 'done', acked_at = now(), done_at = now(), detail = $4
   WHERE ${OF_MINE} AND action = 'health_check' AND state = 'sent'`;
const CLOSE_PING = `
  UPDATE worker_action SET state = 'done', acked_at = now(), done_at = now(),
         detail = 'answered after ' || greatest(0, round(extract(epoch FROM now()) * 1000 - $5::bigint / 1000.0, 1))::float8 || ' ms'
   WHERE ${OF_MINE} AND id = $4 AND action = 'ping' AND state = 'sent'`;
const DECLINE = `
  UPDATE worker_action SET state = 'declined', acked_at = now(), done_at = now(), detail = $5
   WHERE ${OF_MINE} AND id = $4 AND state = 'sent'`;

/** One report answers every open question about health. */
export async function closeHealthChecks(
  { actor, sql }: Asking,
  workerId: string,
  detail: string | null,
): Promise<void> {
  await sql(CLOSE_HEALTH, [actor.accountId, workerId, actor.id, detail]);
}

export async function closePing(
  { actor, sql }: Asking,
  workerId: string,
  asked: { readonly id: string; readonly micros: string },
): Promise<void> {
  await sql(CLOSE_PING, [actor.accountId, workerId, actor.id, asked.id, asked.micros]);
}

export async function declineAction(
  { actor, sql }: Asking,
  workerId: string,
  actionId: string,
  detail: string,
): Promise<void> {
  await sql(DECLINE, [actor.accountId, workerId, actor.id, actionId, detail]);
}

/** What a worker is to be told, its mode, and what it understands. */
export interface Orders {
  readonly mode: Mode;
  readonly dialect: Dialect;
  readonly actions: readonly OpenAction[];
}

const ORDERS = `
  SELECT w.mode, w.dialect, (
    SELECT coalesce(json_agg(json_build_object('id', a.id, 'action', a.action, 'params', a.params,
                                               'micros', (extract(epoch FROM clock_timestamp()) * 1000000)::bigint::text)
                             ORDER BY a.created_at, a.id), '[]')
      FROM worker_action AS a
     WHERE a.account_id = w.account_id AND a.worker_id = w.id AND a.agent_id = w.agent_id AND a.state = 'sent'
       AND a.created_at > now() - make_interval(secs => $4)) AS actions
    FROM worker AS w WHERE w.account_id = $1 AND w.id = $2 AND w.agent_id = $3`;

export async function ordersOf(
  database: Database,
  worker: { readonly accountId: string; readonly workerId: string; readonly agentId: string },
  openSeconds: number,
): Promise<Orders | undefined> {
  const values = [worker.accountId, worker.workerId, worker.agentId, openSeconds];
  const rows = await database.asAccount(
    worker.accountId,
    (transaction) => transaction.query<Orders>({ text: ORDERS, values }),
    'read',
  );
  return rows[0];
}

/** A worker that was told to restart has left: its process closed its channel for good, or nothing is heard of it. */
const CLOSE_OLD = `
  WITH expired AS (
    UPDATE worker_action SET state = 'expired', done_at = now()
     WHERE state = 'sent' AND created_at <= now() - make_interval(secs => $1) RETURNING id),
  restarted AS (
    UPDATE worker_action AS a SET state = 'done', done_at = now(), detail = coalesce(a.detail, 'its process has left')
     WHERE a.state = 'acknowledged' AND NOT EXISTS (
       SELECT FROM worker AS w
        WHERE w.account_id = a.account_id AND w.id = a.worker_id AND w.agent_id = a.agent_id
          AND w.last_seen_at > now() - make_interval(secs => coalesce(w.window_seconds, $2))
          AND NOT (w.channel_closed_by = 'worker' AND w.channel_closed_at >= w.channel_opened_at
                   AND greatest(w.channel_closed_at, w.last_seen_at) < now() - make_interval(secs => $3)))
    RETURNING id)
  SELECT (SELECT count(*)::int FROM expired) AS expired, (SELECT count(*)::int FROM restarted) AS restarted`;

export interface Closed {
  readonly expired: number;
  readonly restarted: number;
}

/** Closes what was asked too long ago, and restarts whose worker has left. */
export async function closeOld(
  database: Database,
  limits: { readonly openSeconds: number; readonly presenceSeconds: number; readonly closedSeconds: number },
): Promise<Closed | undefined> {
  const values = [limits.openSeconds, limits.presenceSeconds, limits.closedSeconds];
  return (await database.acrossAccounts<Closed & object>({ text: CLOSE_OLD, values }))[0];
}

const WAITING = `
  SELECT DISTINCT a.account_id, a.worker_id
    FROM worker_action AS a
    JOIN worker AS w ON w.account_id = a.account_id AND w.id = a.worker_id AND w.channel_replica = $1
   WHERE a.state = 'sent' LIMIT 500`;

/** Workers whose channel is on a replica and that are still to answer something. */
export async function workersWithOrders(
  database: Database,
  replicaId: string,
): Promise<{ readonly account_id: string; readonly worker_id: string }[]> {
  return database.acrossAccounts({ text: WAITING, values: [replicaId] });
}
