import type { Database } from '../../platform/db/database.ts';
import type { Dialect } from '../registration/dialect.policy.ts';

/** How a worker was heard. A batch of events is a frame too, with a light of its own. */
export type SignOfLife = 'heartbeat' | 'frame' | 'claim' | 'pong' | 'channel' | 'events';

/** What was heard of one worker since the last write. Times are this process's monotonic milliseconds. */
export interface Heard {
  readonly accountId: string;
  readonly workerId: string;
  readonly agentId: string;
  readonly tokenId: string;
  at: number;
  path: SignOfLife;
  claimAt: number | undefined;
  pongAt: number | undefined;
  eventsAt: number | undefined;
  roundTripMs: number | undefined;
}

/**
 * Ages travel, not times: what counts is the database's clock less the age. Only signs of life are touched, and only of a
 * worker of the agent that spoke: under another agent's worker id nothing changes.
 */
const WRITE = `
  WITH written AS (
    INSERT INTO worker (account_id, id, agent_id, token_id, last_seen_at, last_path, last_claim_at, last_pong_at, round_trip_ms, last_events_at)
    SELECT account_id, id, agent_id, token_id, now() - make_interval(secs => seen), path, now() - make_interval(secs => claim),
           now() - make_interval(secs => pong), round_trip, now() - make_interval(secs => events)
      FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::float8[], $6::text[], $7::float8[], $8::float8[], $9::float8[], $10::float8[])
        AS heard (account_id, id, agent_id, token_id, seen, path, claim, pong, round_trip, events)
    ON CONFLICT (account_id, id) DO UPDATE SET
      last_seen_at = greatest(worker.last_seen_at, excluded.last_seen_at),
      last_path = CASE WHEN excluded.last_seen_at >= worker.last_seen_at THEN excluded.last_path ELSE worker.last_path END,
      last_claim_at = greatest(worker.last_claim_at, excluded.last_claim_at),
      last_pong_at = greatest(worker.last_pong_at, excluded.last_pong_at),
      round_trip_ms = coalesce(excluded.round_trip_ms, worker.round_trip_ms),
      last_events_at = greatest(worker.last_events_at, excluded.last_events_at)
    WHERE worker.agent_id = excluded.agent_id
    RETURNING account_id, id, max_concurrent, dialect, registered_at IS NOT NULL AS is_registered)
  SELECT account_id, id, max_concurrent, CASE WHEN is_registered THEN dialect END AS dialect
    FROM written JOIN unnest($1::text[], $2::text[], $11::bool[]) AS asked (account_id, id, is_asked) USING (account_id, id)
   WHERE max_concurrent > 1 OR is_asked`;

/** What the row of a worker says of it. */
export interface Described {
  readonly account_id: string;
  readonly id: string;
  readonly max_concurrent: number;
  /** Null until it has registered. */
  readonly dialect: Dialect | null;
}

/**
 * Writes what was heard by `now`, each worker id at most once. Answers those with more than one slot, and those that
 * `isAsked` asks for.
 */
export async function writeHeard(
  database: Database,
  heard: readonly Heard[],
  { now, isAsked }: { readonly now: number; readonly isAsked: (worker: Heard) => boolean },
): Promise<Described[]> {
  const age = (at: number | undefined): number | null => (at === undefined ? null : Math.max(0, now - at) / 1_000);
  return database.acrossAccounts<Described>({
    text: WRITE,
    values: [
      heard.map(({ accountId }) => accountId),
      heard.map(({ workerId }) => workerId),
      heard.map(({ agentId }) => agentId),
      heard.map(({ tokenId }) => tokenId),
      heard.map(({ at }) => age(at)),
      heard.map(({ path }) => (path === 'events' ? 'frame' : path)),
      heard.map(({ claimAt }) => age(claimAt)),
      heard.map(({ pongAt }) => age(pongAt)),
      heard.map(({ roundTripMs }) => roundTripMs ?? null),
      heard.map(({ eventsAt }) => age(eventsAt)),
      heard.map(isAsked),
    ],
  });
}
