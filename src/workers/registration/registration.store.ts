import { writeJson } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Offers } from './dialect.policy.ts';
import type { Said } from './said.policy.ts';

export interface NewWorker extends Omit<Said, 'at' | 'skills' | 'skillsHash'> {
  readonly claimedHandle: string | null;
  readonly generation: number;
  readonly sdkVersion: string | null;
  readonly offers: Offers;
  readonly endpointUrl: string | null;
  /** How long a sign of life of it counts; null: as long as the installation says for most. */
  readonly windowSeconds: number | null;
}

/** Who only opened a channel or sent a frame under an id has no claim to it. */
const DROP_STRANGER = `
  DELETE FROM worker WHERE account_id = $1 AND id = $2 AND agent_id <> $3 AND registered_at IS NULL RETURNING id`;
/**
 * A process that registers starts afresh, also under an id that was there before: if that one was told to restart, it did.
 */
const REGISTER = `
  WITH before AS (SELECT mode, dialect FROM worker WHERE account_id = $1 AND id = $2),
  restarted AS (
    UPDATE worker_action SET state = 'done', done_at = now(), detail = 'it has registered again'
     WHERE account_id = $1 AND worker_id = $2 AND agent_id = $3 AND action = 'drain_restart' AND state IN ('sent', 'acknowledged'))
  INSERT INTO worker (account_id, id, agent_id, token_id, claimed_handle, generation, manifest, dialect, sdk_version, max_concurrent,
                      version, labels, can_replay, endpoint_url,
                      said, window_seconds, last_path, registered_at, last_seen_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7::jsonb, $8, $9, $10, $11, $12::jsonb, $13, $14, $15, $16, $17, now(), now())
  ON CONFLICT (account_id, id) DO UPDATE SET
    token_id = excluded.token_id, token_revoked_at = NULL, claimed_handle = excluded.claimed_handle, generation = excluded.generation,
    manifest = excluded.manifest, dialect = excluded.dialect, sdk_version = excluded.sdk_version, max_concurrent = excluded.max_concurrent,
    version = excluded.version, labels = excluded.labels, can_replay = excluded.can_replay, endpoint_url = excluded.endpoint_url,
    said = excluded.said, window_seconds = excluded.window_seconds,
    mode = 'normal', mode_since = NULL, mode_by = NULL, mode_reason = NULL, registered_at = now(), last_seen_at = greatest(worker.last_seen_at, now()), last_path = excluded.last_path,
    health = NULL, models = '[]', config = '{}', refused_frames = '[]'
  WHERE worker.agent_id = excluded.agent_id
  RETURNING last_seen_at, coalesce((SELECT mode <> 'normal' OR dialect <> $8 FROM before), false) AS is_spoken_to_anew`;

export interface RegisteredWorker {
  readonly lastSeenAt: Date;
  /** Another agent's worker had used the id without registering, and may hold a channel under it. */
  readonly tookOver: boolean;
  /** What its channel knows of it is not so any more: it was in another mode than the normal one, or speaks another dialect. */
  readonly isSpokenToAnew: boolean;
}

/** Undefined when a registered worker of another agent has the id; then nothing changes. */
export async function registerWorkerRow(ctx: OpContext, worker: NewWorker): Promise<RegisteredWorker | undefined> {
  const { accountId, id: agentId, credentialId } = ctx.actor;
  const {
    workerId: id,
    claimedHandle,
    generation,
    manifest,
    dialect,
    sdkVersion,
    slots,
    endpointUrl,
    digest,
    windowSeconds,
    way,
  } = worker;
  const { version, labels, canReplay } = worker.offers;
  const said = [credentialId, claimedHandle, generation, writeJson(manifest), dialect, sdkVersion, slots];
  const values = [...said, version, JSON.stringify(labels), canReplay, endpointUrl, digest, windowSeconds, way];
  const [strangers, [row]] = await Promise.all([
    ctx.sql(DROP_STRANGER, [accountId, id, agentId]),
    ctx.sql<{ last_seen_at: Date; is_spoken_to_anew: boolean }>(REGISTER, [accountId, id, agentId, ...values]),
  ]);
  return row && { lastSeenAt: row.last_seen_at, tookOver: strangers.length > 0, isSpokenToAnew: row.is_spoken_to_anew };
}

/** Who was away, and was to be spared before that, begins afresh: its process may be another one. */
const HAS_SAID = `
  WITH known AS (
    SELECT id, window_seconds FROM worker
     WHERE account_id = $1 AND id = $2 AND agent_id = $3 AND token_id = $4 AND said = $5 AND registered_at IS NOT NULL
       AND (mode = 'normal' OR last_seen_at > now() - make_interval(secs => coalesce(window_seconds, $6)))),
  followed AS (
    UPDATE worker SET window_seconds = $6 FROM known WHERE account_id = $1 AND worker.id = known.id AND known.window_seconds <> $6)
  SELECT id FROM known`;

/** Whether this is what a registered worker has said last. The window of those that have one of their own becomes this one. */
export async function hasSaid(
  { actor, sql }: Pick<OpContext, 'actor' | 'sql'>,
  { workerId, digest }: Said,
  windowSeconds: number,
): Promise<boolean> {
  const values = [actor.accountId, workerId, actor.id, actor.credentialId, digest, windowSeconds];
  return (await sql(HAS_SAID, values)).length > 0;
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
