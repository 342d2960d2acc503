import type { Database } from '../../platform/db/database.ts';
import type { PrincipalRows } from './holdings.policy.ts';

/**
 * One row, whoever it is. What is left until an expiry is reckoned by the database's clock; a statement whose expiry is no time
 * has expired.
 */
const READ = `
  SELECT (SELECT kind FROM principal WHERE account_id = $1 AND id = $2) AS kind,
         coalesce((SELECT status <> 'active' OR removed_at IS NOT NULL FROM principal WHERE account_id = $1 AND id = $2), false) AS is_disabled,
         coalesce((SELECT mode FROM access_mode WHERE account_id = $1), 'enforce') AS mode,
         coalesce((
           SELECT json_agg(json_build_object(
                    'grant_id', held.id, 'role_id', held.role_id, 'role_name', role.name, 'policy_ids', role.policy_ids,
                    'capability', held.capability, 'policy_id', held.policy_id, 'resource_type', held.resource_type,
                    'resource_id', held.resource_id, 'selector', held.selector,
                    'left_ms', 1000 * extract(epoch FROM held.expires_at - now())) ORDER BY held.id NULLS FIRST, held.role_id)
             FROM (SELECT NULL::text AS id, role_id, NULL::text AS capability, NULL::text AS policy_id, '*'::text AS resource_type,
                          '*'::text AS resource_id, NULL::jsonb AS selector, NULL::timestamptz AS expires_at
                     FROM principal_role WHERE account_id = $1 AND principal_id = $2
                    UNION ALL
                   SELECT id, CASE kind WHEN 'role' THEN role_id END, CASE kind WHEN 'capability' THEN capability END, policy_id,
                          resource_type, resource_id, selector, expires_at
                     FROM access_grant WHERE account_id = $1 AND principal_id = $2) AS held
             LEFT JOIN access_role AS role ON role.account_id = $1 AND role.id = held.role_id), '[]') AS held,
         coalesce((
           SELECT json_agg(json_build_object('id', policy.id, 'name', policy.name, 'statements', coalesce((
                    SELECT json_agg(json_build_object(
                             'capability', said ->> 'capability', 'resource_type', said ->> 'resource_type',
                             'resource_id', said ->> 'resource_id', 'selector', said -> 'selector',
                             'left_ms', CASE WHEN said ->> 'expires_at' IS NULL THEN NULL
                                             WHEN NOT pg_input_is_valid(said ->> 'expires_at', 'timestamptz') THEN 0
                                             ELSE 1000 * extract(epoch FROM (said ->> 'expires_at')::timestamptz - now()) END)
                             ORDER BY place)
                      FROM jsonb_array_elements(policy.statements) WITH ORDINALITY AS one (said, place)), '[]')))
             FROM access_policy AS policy
            WHERE policy.account_id = $1 AND policy.id IN (
                  SELECT unnest(role.policy_ids) FROM access_role AS role
                   WHERE role.account_id = $1 AND role.id IN (
                         SELECT role_id FROM principal_role WHERE account_id = $1 AND principal_id = $2
                          UNION ALL
                         SELECT role_id FROM access_grant WHERE account_id = $1 AND principal_id = $2 AND kind = 'role'))), '[]') AS policies`;

/** Outside of any transaction, before an operation's own begins. */
export async function readPrincipal(
  database: Database,
  accountId: string,
  principalId: string,
): Promise<PrincipalRows | undefined> {
  return (await database.acrossAccounts<PrincipalRows & object>({ text: READ, values: [accountId, principalId] }))[0];
}
