import type pg from 'pg';
import { StartRefused } from '../config/config.ts';

interface Session {
  readonly role: string;
  readonly powerful: boolean;
  readonly owned: string[];
  readonly open: string[];
}

const DESCRIBE_SESSION = `
  WITH tenant AS (
    SELECT c.oid, c.relname::text, c.relowner, c.relrowsecurity AND c.relforcerowsecurity AS walled
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'account_id' AND NOT a.attisdropped
     WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace)
  SELECT current_user::text AS role,
         (SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user) AS powerful,
         ARRAY(SELECT relname FROM tenant WHERE pg_has_role(current_user, relowner, 'USAGE')) AS owned,
         ARRAY(SELECT relname FROM tenant WHERE NOT walled) AS open`;

/**
 * Refuses sessions that would see through row-level security, and tenant tables that have none. A superuser and an owner
 * see every account's rows without an error, so a wrong DATABASE_URL would show only as a leak.
 * @throws StartRefused
 */
export async function assertWalled(pool: pg.Pool, expectedRole: string): Promise<void> {
  const { rows } = await pool.query<Session>(DESCRIBE_SESSION);
  const session = rows[0];
  const refuse = (why: string): never => {
    throw new StartRefused(`DATABASE_URL: ${why}`);
  };
  if (session?.role !== expectedRole)
    return refuse(`sessions must run as ${expectedRole}, not as ${session?.role ?? 'nobody'}`);
  if (session.powerful) refuse(`the role ${session.role} sees through row-level security`);
  if (session.owned.length > 0) refuse(`the role ${session.role} owns ${session.owned.join(', ')}`);
  if (session.open.length > 0) refuse(`there is no forced row-level security on ${session.open.join(', ')}`);
}
