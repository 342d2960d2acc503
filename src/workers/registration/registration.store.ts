import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Dialect, Offers } from './dialect.policy.ts';

export interface NewWorker {
  readonly id: string;
  readonly claimedHandle: string | null;
  readonly generation: number;
  readonly manifest: JsonObject;
  readonly dialect: Dialect;
  readonly sdkVersion: string | null;
  readonly slots: number;
  readonly offers: Offers;
  readonly endpointUrl: string | null;
}

/** Who only opened a channel or sent a frame under an id has no claim to it. */
const DROP_STRANGER = `
  DELETE FROM worker WHERE account_id = $1 AND id = $2 AND agent_id <> $3 AND registered_at IS NULL RETURNING id`;
/**
 * A process that registers starts afresh, also under an id that was there before: if that one was told to restart, it did.
 */
const REGISTER = `
  WITH before AS (SELECT mode FROM worker WHERE account_id = $1 AND id = $2),
  restarted AS (
    UPDATE worker_action SET state = 'done', done_at = now(), detail = 'it has registered again'
     WHERE account_id = $1 AND worker_id = $2 AND agent_id = $3 AND action = 'drain_restart' AND state IN ('sent', 'acknowledged'))
  INSERT INTO worker (account_id, id, agent_id, token_id, claimed_handle, generation, manifest, dialect, sdk_version, max_concurrent,
                      version, labels, can_replay, endpoint_url, registered_at, last_seen_at, last_path)
  VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11, $12::jsonb, $13, $14, now(), now(), 'frame')
  ON CONFLICT (account_id, id) DO UPDATE SET
    token_id = excluded.token_id, token_revoked_at = NULL, claimed_handle = excluded.claimed_handle, generation = excluded.generation,
    manifest = excluded.manifest, dialect = excluded.dialect, sdk_version = excluded.sdk_version, max_concurrent = excluded.max_concurrent,
    version = excluded.version, labels = excluded.labels, can_replay = excluded.can_replay, endpoint_url = excluded.endpoint_url,
    mode = 'normal', mode_since = NULL, mode_by = NULL, mode_reason = NULL, registered_at = now(), last_seen_at = greatest(worker.last_seen_at, now()), last_path = 'frame',
    health = NULL, models = '[]', config = '{}', refused_frames = '[]'
  WHERE worker.agent_id = excluded.agent_id
  RETURNING last_seen_at, coalesce((SELECT mode FROM before) <> 'normal', false) AS was_spared`;

export interface RegisteredWorker {
  readonly lastSeenAt: Date;
  /** Another agent's worker had used the id without registering, and may hold a channel under it. */
  readonly tookOver: boolean;
  /** It was in another mode than the normal one, and is not any more. */
  readonly wasSpared: boolean;
}

/** Undefined when a registered worker of another agent has the id; then nothing changes. */
export async function registerWorkerRow(ctx: OpContext, worker: NewWorker): Promise<RegisteredWorker | undefined> {
  const { accountId, id: agentId, credentialId } = ctx.actor;
  const { id, claimedHandle, generation, manifest, dialect, sdkVersion, slots, endpointUrl } = worker;
  const { version, labels, canReplay } = worker.offers;
  const said = [credentialId, claimedHandle, generation, writeJson(manifest), dialect, sdkVersion, slots];
  const values = [...said, version, JSON.stringify(labels), canReplay, endpointUrl];
  const [strangers, [row]] = await Promise.all([
    ctx.sql(DROP_STRANGER, [accountId, id, agentId]),
    ctx.sql<{ last_seen_at: Date; was_spared: boolean }>(REGISTER, [accountId, id, agentId, ...values]),
  ]);
  return row && { lastSeenAt: row.last_seen_at, tookOver: strangers.length > 0, wasSpared: row.was_spared };
}

const OF_MINE = 'WHERE account_id = $1 AND id = $2 AND agent_id = $3';
const NOTE_HEALTH = `UPDATE worker SET health = $4::jsonb ${OF_MINE}`;
const REFUSALS_KEPT = 20;
const NOTE_REFUSAL = `
  UPDATE worker SET refused_frames = (
    SELECT jsonb_agg(kept.frame ORDER BY kept.place)
      FROM jsonb_array_elements($4::jsonb || refused_frames) WITH ORDINALITY AS kept (frame, place)
     WHERE kept.place <= ${REFUSALS_KEPT})
  ${OF_MINE}`;

export async function noteHealth(ctx: OpContext, workerId: string, health: object): Promise<void> {
  await ctx.sql(NOTE_HEALTH, [ctx.actor.accountId, workerId, ctx.actor.id, JSON.stringify(health)]);
}

/** Keeps the newest refusals, the newest first. */
export async function noteRefusal(ctx: OpContext, workerId: string, refusal: object): Promise<void> {
  await ctx.sql(NOTE_REFUSAL, [ctx.actor.accountId, workerId, ctx.actor.id, JSON.stringify([refusal])]);
}
