import type { Database } from '../../platform/db/database.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

/** The row stays locked until the end of the transaction: versions are therefore in the order of the commits. */
const RAISE = 'UPDATE credential_version SET version = version + 1 WHERE id = 1 RETURNING version::text AS version';
const ACKNOWLEDGE = `
  INSERT INTO credential_watch (replica_id, version, seen_at) VALUES ($1, $2, now())
  ON CONFLICT (replica_id) DO UPDATE SET version = excluded.version, seen_at = excluded.seen_at
  RETURNING (SELECT version::text FROM credential_version WHERE id = 1) AS version`;
const BEHIND = `
  SELECT count(*)::int AS behind FROM credential_watch
   WHERE replica_id <> $1 AND version < $2 AND seen_at > now() - make_interval(secs => $3)`;
const LEAVE = `DELETE FROM credential_watch WHERE replica_id = $1 OR seen_at < now() - interval '1 day'`;

/** Raises the version in the caller's transaction. */
export async function raiseVersion(ctx: Pick<OpContext, 'sql'>): Promise<bigint> {
  const [row] = await ctx.sql<{ version: string }>(RAISE);
  return BigInt(row?.version ?? 0);
}

/** Says that this replica has emptied its caches up to `version`; returns the version in force. */
export async function acknowledge(database: Database, replicaId: string, version: bigint): Promise<bigint> {
  const values = [replicaId, String(version)];
  const [row] = await database.acrossAccounts<{ version: string }>({ text: ACKNOWLEDGE, values });
  return BigInt(row?.version ?? 0);
}

/** How many other replicas may still believe in something older than `version`. */
export async function countBehind(
  database: Database,
  replicaId: string,
  version: bigint,
  seconds: number,
): Promise<number> {
  const values = [replicaId, String(version), seconds];
  const [row] = await database.acrossAccounts<{ behind: number }>({ text: BEHIND, values });
  return row?.behind ?? 0;
}

export async function leaveWatch(database: Database, replicaId: string): Promise<void> {
  await database.acrossAccounts({ text: LEAVE, values: [replicaId] });
}
