import type { Database } from '../../platform/db/database.ts';
import type { Mode } from '../fleet/lights.policy.ts';
import type { Dialect } from '../registration/dialect.policy.ts';
import type { WorkerChannel } from './channel.stream.ts';

/** The newest opening of a worker id is its channel, whichever replica writes first; under another agent's id none is. */
const RECORD_OPENED = `
  INSERT INTO worker (account_id, id, agent_id, token_id, last_path, channel_replica, channel_nonce, channel_opened_at)
  SELECT account_id, id, agent_id, token_id, 'channel', $1, nonce, now() - make_interval(secs => age)
    FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::float8[]) AS opened (account_id, id, agent_id, token_id, nonce, age)
  ON CONFLICT (account_id, id) DO UPDATE SET
    channel_replica = excluded.channel_replica, channel_nonce = excluded.channel_nonce, channel_opened_at = excluded.channel_opened_at,
    channel_closed_at = NULL, channel_closed_by = NULL, unacked_since = NULL
  WHERE worker.agent_id = excluded.agent_id
    AND (worker.channel_opened_at IS NULL OR worker.channel_opened_at <= excluded.channel_opened_at
         OR worker.channel_replica = excluded.channel_replica) -- one replica writes in the order of its openings
  RETURNING channel_nonce AS nonce, mode, dialect, EXISTS (
    SELECT FROM worker_action AS a WHERE a.account_id = worker.account_id AND a.worker_id = worker.id AND a.state = 'sent')
    OR EXISTS (SELECT FROM approval_untold AS u WHERE u.account_id = worker.account_id AND u.worker_id = worker.id)
    OR coalesce((SELECT jsonb_build_array(v.version, v.skills_version, v.action_rules_version) <> (worker.config -> 'handed')
                   FROM agent_config_versions AS v WHERE v.account_id = worker.account_id AND v.agent_id = worker.agent_id
                  ORDER BY v.revision DESC LIMIT 1), false) AS has_orders`;

/** What a channel learns from the row that it is written into. */
export interface OpenedChannel {
  readonly nonce: string;
  readonly mode: Mode;
  readonly dialect: Dialect;
  readonly has_orders: boolean;
}

/** Answers those that are now their worker's channel. A worker id may stand in `channels` once. */
export async function recordOpened(
  database: Database,
  replicaId: string,
  channels: readonly WorkerChannel[],
  now: number,
): Promise<ReadonlyMap<string, OpenedChannel>> {
  const rows = await database.acrossAccounts<OpenedChannel>({
    text: RECORD_OPENED,
    values: [
      replicaId,
      channels.map(({ accountId }) => accountId),
      channels.map(({ workerId }) => workerId),
      channels.map(({ agentId }) => agentId),
      channels.map(({ tokenId }) => tokenId),
      channels.map(({ nonce }) => nonce),
      channels.map(({ openedAt }) => (now - openedAt) / 1_000),
    ],
  });
  return new Map(rows.map((row) => [row.nonce, row]));
}

const RECORD_CLOSED = `
  UPDATE worker SET channel_closed_at = now() - make_interval(secs => closed.age), channel_closed_by = closed.by
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[], $5::text[]) AS closed (account_id, id, nonce, age, by)
   WHERE worker.account_id = closed.account_id AND worker.id = closed.id AND worker.channel_nonce = closed.nonce`;

/** Only the worker's newest channel leaves its end in the row. */
export async function recordClosed(database: Database, channels: readonly WorkerChannel[], now: number): Promise<void> {
  await database.acrossAccounts({
    text: RECORD_CLOSED,
    values: [
      channels.map(({ accountId }) => accountId),
      channels.map(({ workerId }) => workerId),
      channels.map(({ nonce }) => nonce),
      channels.map(({ closedAt = now }) => (now - closedAt) / 1_000),
      channels.map(({ closedBy = 'unknown' }) => closedBy),
    ],
  });
}

const RECORD_UNACKED = `
  UPDATE worker SET unacked_since = now() - make_interval(secs => seen.age)
    FROM unnest($1::text[], $2::text[], $3::text[], $4::float8[]) AS seen (account_id, id, nonce, age)
   WHERE worker.account_id = seen.account_id AND worker.id = seen.id AND worker.channel_nonce = seen.nonce`;

/** Since when the channels' bytes are not acknowledged, or that they are again. */
export async function recordUnacked(
  database: Database,
  channels: readonly WorkerChannel[],
  now: number,
): Promise<void> {
  await database.acrossAccounts({
    text: RECORD_UNACKED,
    values: [
      channels.map(({ accountId }) => accountId),
      channels.map(({ workerId }) => workerId),
      channels.map(({ nonce }) => nonce),
      channels.map(({ unackedAt }) => (unackedAt === undefined ? null : (now - unackedAt) / 1_000)),
    ],
  });
}

/** What the row says of a channel that is open here. */
export interface RecordedChannel {
  readonly account_id: string;
  readonly id: string;
  readonly agent_id: string;
  readonly mode: Mode;
  readonly dialect: Dialect;
  readonly nonce: string | null;
  readonly is_closed: boolean;
  readonly seconds_since_pong: number | null;
}

const RECORDED = `
  SELECT w.account_id, w.id, w.agent_id, w.mode, w.dialect, w.channel_nonce AS nonce, w.channel_closed_at IS NOT NULL AS is_closed,
         extract(epoch FROM now() - w.last_pong_at)::float8 AS seconds_since_pong
    FROM unnest($1::text[], $2::text[]) AS here (account_id, id)
    JOIN worker AS w ON w.account_id = here.account_id AND w.id = here.id`;

export async function recordedChannels(
  database: Database,
  channels: readonly WorkerChannel[],
): Promise<RecordedChannel[]> {
  const values = [channels.map(({ accountId }) => accountId), channels.map(({ workerId }) => workerId)];
  return database.acrossAccounts<RecordedChannel>({ text: RECORDED, values });
}

/** A replica that is silent for so long will not close its channels itself. */
const DEAD_AFTER_SECONDS = 30;
const BURY = `
  UPDATE worker SET channel_closed_at = now(), channel_closed_by = 'us'
   WHERE channel_nonce IS NOT NULL AND channel_closed_at IS NULL
     AND NOT EXISTS (SELECT FROM replica WHERE replica.id = channel_replica AND replica.seen_at > now() - make_interval(secs => $1))
  RETURNING id`;

/** Closes the channels of dead replicas in the rows. Answers how many there were. */
export async function buryChannels(database: Database): Promise<number> {
  return (await database.acrossAccounts({ text: BURY, values: [DEAD_AFTER_SECONDS] })).length;
}
