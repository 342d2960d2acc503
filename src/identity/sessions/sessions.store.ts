import type { Database } from '../../platform/db/database.ts';
import type { OpContext } from '../../platform/operation/operation.ts';

type Rows = Pick<OpContext, 'sql'>;

/** A session with whoever it acts as now. Whom it may act as no longer, it does not: then it is back home. */
export interface SessionRow {
  readonly sid: string;
  readonly isEnded: boolean;
  /** By the database's clock; what ends first. */
  readonly expiresInMs: number;
  readonly actsForMs: number | null;
  readonly acting: 'impersonate' | 'account_view' | null;
  /** Who signed in. */
  readonly ownerId: string;
  readonly ownerEmail: string;
  readonly isOwnerAdmin: boolean;
  readonly homePrincipalId: string | null;
  /** Null: a member of no account. */
  readonly accountId: string | null;
  readonly principalId: string | null;
  readonly userId: string | null;
  readonly isPrincipalActive: boolean | null;
  readonly isAccountActive: boolean | null;
}

const FIND = `
  SELECT s.id AS sid, s.ended_at IS NOT NULL AS "isEnded",
         (extract(epoch FROM least(s.expires_at, s.capped_at) - now()) * 1000)::float8 AS "expiresInMs",
         CASE WHEN acts.so THEN s.acting END AS acting,
         CASE WHEN acts.so THEN (extract(epoch FROM s.acting_until - now()) * 1000)::float8 END AS "actsForMs",
         me.id AS "ownerId", me.email AS "ownerEmail", me.is_system_admin AS "isOwnerAdmin", s.home_principal_id AS "homePrincipalId",
         p.account_id AS "accountId", p.id AS "principalId", p.user_id AS "userId",
         p.status = 'active' AS "isPrincipalActive", a.status = 'active' AS "isAccountActive"
    FROM session s JOIN person me ON me.id = s.user_id
   CROSS JOIN LATERAL (
           SELECT s.acting IS NOT NULL AND s.acting_until > now() AND me.is_system_admin AND EXISTS (
                    SELECT FROM principal t JOIN account ta ON ta.id = t.account_id AND ta.status = 'active'
                     WHERE t.account_id = s.in_account_id AND t.id = s.principal_id AND t.status = 'active') AS so) acts
    LEFT JOIN principal p
      ON p.account_id = CASE WHEN s.acting IS NULL OR acts.so THEN s.in_account_id ELSE s.home_account_id END
     AND p.id = CASE WHEN s.acting IS NULL OR acts.so THEN s.principal_id ELSE s.home_principal_id END
    LEFT JOIN account a ON a.id = p.account_id
   WHERE s.id = $1`;

export async function findSession(database: Database, sid: string): Promise<SessionRow | undefined> {
  return (await database.acrossAccounts<SessionRow & Record<string, unknown>>({ text: FIND, values: [sid] }))[0];
}

export interface NewSession {
  readonly id: string;
  readonly userId: string;
  readonly method: 'oidc' | 'api_key';
  readonly userAgent: string | undefined;
  /** Absent: where the person has been a member for longest. */
  readonly accountId?: string;
  readonly idleSeconds: number;
  readonly capSeconds: number;
}

const INSERT = `
  INSERT INTO session (id, user_id, method, user_agent, expires_at, capped_at, in_account_id, principal_id)
  SELECT $1, $2, $3, left($4, 300), now() + make_interval(secs => least($5::float8, $6)), now() + make_interval(secs => $6), home.account_id, home.id
    FROM (SELECT) AS one LEFT JOIN LATERAL (
           SELECT p.account_id, p.id FROM principal p JOIN account a ON a.id = p.account_id
            WHERE p.user_id = $2 AND p.kind = 'person' AND p.status = 'active' AND ($7::text IS NULL OR p.account_id = $7)
            ORDER BY a.status = 'active' DESC, p.created_at, p.account_id LIMIT 1) AS home ON true
  RETURNING in_account_id AS "accountId", principal_id AS "principalId"`;

export async function insertSession(
  { sql }: Rows,
  session: NewSession,
): Promise<{ readonly accountId: string | null; readonly principalId: string | null }> {
  const { id, userId, method, userAgent = null, idleSeconds, capSeconds, accountId = null } = session;
  const values = [id, userId, method, userAgent, idleSeconds, capSeconds, accountId];
  const [row] = await sql<{ accountId: string | null; principalId: string | null }>(INSERT, values);
  return row ?? { accountId: null, principalId: null };
}

const RENEW = `
  UPDATE session SET last_seen_at = now(), expires_at = least(capped_at, now() + make_interval(secs => $2))
   WHERE id = $1 AND ended_at IS NULL AND expires_at > now()`;

export async function renewSession({ sql }: Rows, sid: string, idleSeconds: number): Promise<void> {
  await sql(RENEW, [sid, idleSeconds]);
}

const END = `
  UPDATE session SET ended_at = now(), ended_because = $2 WHERE id = $1 AND ended_at IS NULL
  RETURNING user_id AS "userId", in_account_id AS "accountId", principal_id AS "principalId", method`;

/** A session that was ended, as it stood. */
export interface EndedSession {
  readonly userId: string;
  readonly accountId: string | null;
  readonly principalId: string | null;
  readonly method: string;
}

export async function endSession({ sql }: Rows, sid: string, because: string): Promise<EndedSession | undefined> {
  return (await sql<EndedSession>(END, [sid, because]))[0];
}

const LIST = `
  SELECT s.id AS sid, s.id = $1 AS current, s.created_at AS "createdAt", s.last_seen_at AS "lastSeenAt",
         least(s.expires_at, s.capped_at) AS "expiresAt", s.user_agent AS "userAgent", coalesce(s.home_account_id, s.in_account_id, '') AS "accountId"
    FROM session s
   WHERE s.user_id = (SELECT user_id FROM session WHERE id = $1) AND s.ended_at IS NULL AND s.expires_at > now() AND s.capped_at > now()
   ORDER BY s.created_at DESC, s.id LIMIT 1000`;

export interface ListedSession {
  readonly sid: string;
  readonly current: boolean;
  readonly createdAt: Date;
  readonly lastSeenAt: Date;
  readonly expiresAt: Date;
  readonly userAgent: string | null;
  readonly accountId: string;
}

/** All of the person whose session `sid` is. */
export async function listSessions({ sql }: Rows, sid: string): Promise<ListedSession[]> {
  return sql<ListedSession>(LIST, [sid]);
}

const END_ALL = `
  UPDATE session SET ended_at = now(), ended_because = 'signed out everywhere'
   WHERE user_id = (SELECT user_id FROM session WHERE id = $1) AND ended_at IS NULL AND expires_at > now() AND capped_at > now() AND ($2 OR id <> $1)
  RETURNING 1`;

export async function endAllSessions({ sql }: Rows, sid: string, isThisToo: boolean): Promise<number> {
  return (await sql(END_ALL, [sid, isThisToo])).length;
}

const END_HERE = `
  UPDATE session SET ended_at = now(), ended_because = $3
   WHERE ended_at IS NULL AND ((in_account_id = $1 AND principal_id = $2) OR (home_account_id = $1 AND home_principal_id = $2))`;

/**
 * Ends what a principal of the caller's account is signed in with, also where it only acts from here. In the caller's transaction,
 * which calls the watch last.
 */
export async function endSessionsOf(
  { actor, sql }: Pick<OpContext, 'actor' | 'sql'>,
  principalId: string,
  because: string,
): Promise<void> {
  await sql(END_HERE, [actor.accountId, principalId, because]);
}

const PLACE = `
  SELECT p.id, a.status = 'active' AS "isActive"
    FROM principal p JOIN account a ON a.id = p.account_id
   WHERE p.account_id = $1 AND p.user_id = (SELECT user_id FROM session WHERE id = $2) AND p.kind = 'person' AND p.status = 'active'`;

/** As whom the person of a session acts in an account; undefined where they are no member. */
export async function findPlace(
  { sql }: Rows,
  accountId: string,
  sid: string,
): Promise<{ readonly id: string; readonly isActive: boolean } | undefined> {
  return (await sql<{ id: string; isActive: boolean }>(PLACE, [accountId, sid]))[0];
}

const MOVE = `
  UPDATE session SET in_account_id = $2, principal_id = $3, acting = NULL, acting_reason = NULL, acting_since = NULL, acting_until = NULL,
         home_account_id = NULL, home_principal_id = NULL
   WHERE id = $1 AND ended_at IS NULL`;

export async function moveSession({ sql }: Rows, sid: string, accountId: string, principalId: string): Promise<void> {
  await sql(MOVE, [sid, accountId, principalId]);
}

const ACT = `
  UPDATE session SET acting = $4, acting_reason = $5, acting_since = now(), acting_until = now() + make_interval(secs => $6),
         home_account_id = CASE WHEN acting IS NULL THEN in_account_id ELSE home_account_id END,
         home_principal_id = CASE WHEN acting IS NULL THEN principal_id ELSE home_principal_id END,
         in_account_id = $2, principal_id = $3
   WHERE id = $1 AND ended_at IS NULL`;

export interface Acting {
  readonly accountId: string;
  readonly principalId: string;
  readonly as: 'impersonate' | 'account_view';
  readonly reason: string | null;
  readonly seconds: number;
}

export async function actAs({ sql }: Rows, sid: string, acting: Acting): Promise<void> {
  await sql(ACT, [sid, acting.accountId, acting.principalId, acting.as, acting.reason, acting.seconds]);
}

const BACK = `
  UPDATE session SET in_account_id = home_account_id, principal_id = home_principal_id, acting = NULL, acting_reason = NULL,
         acting_since = NULL, acting_until = NULL, home_account_id = NULL, home_principal_id = NULL
   WHERE id = $1 AND acting IS NOT NULL RETURNING 1`;

/** False where it acts as nobody else. */
export async function comeBack({ sql }: Rows, sid: string): Promise<boolean> {
  return (await sql(BACK, [sid])).length > 0;
}
