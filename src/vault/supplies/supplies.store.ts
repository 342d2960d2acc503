import type { OpContext } from '../../platform/operation/operation.ts';

/** A credential that goes out, as its rows have it. */
export interface SuppliedRow {
  readonly id: string;
  readonly name: string;
  readonly status: 'active' | 'disabled';
  readonly version: number;
  readonly sealed: Buffer;
  readonly sealed_key_id: string;
  /** Of the asking worker; null where it says nothing usable. */
  readonly sdk_version: string | null;
}

/**
 * What an agent gets, bound under its id or its handle. `$1` account, `$2` agent, `$3` worker.
 */
function boundTo(condition: string): string {
  return `
  bound AS MATERIALIZED (
    SELECT c.id, c.name, c.status, c.active_version AS version, v.sealed, v.sealed_key_id, c.last_used_at
      FROM credential c
      JOIN credential_value v ON v.account_id = c.account_id AND v.credential_id = c.id AND v.version = c.active_version
     WHERE c.account_id = $1 AND c.id IN (
       SELECT credential_id FROM credential_binding
        WHERE account_id = $1 AND ${condition} AND agent_ref IN (
          SELECT $2::text UNION
          SELECT handle FROM agent_directory WHERE account_id = $1 AND id = $2)))`;
}

/** To the minute, and never waiting for another claim that does the same. */
const USED = `
  used AS (
    UPDATE credential SET last_used_at = now() WHERE account_id = $1 AND id IN (
      SELECT id FROM credential
       WHERE account_id = $1 AND id IN (SELECT id FROM bound WHERE last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
         FOR NO KEY UPDATE SKIP LOCKED))`;
const SUPPLIED = `
  SELECT id, name, status, version, sealed, sealed_key_id,
         (SELECT sdk_version FROM worker_presence WHERE account_id = $1 AND id = $3 AND agent_id = $2) AS sdk_version
    FROM bound ORDER BY name`;

const HAND_OUT = `
  WITH ${boundTo('true')},
  noted AS (
    INSERT INTO credential_handout (account_id, run_id, credential_id, version, attempt, worker_id)
    SELECT $1, $4, id, version, $5, $3 FROM bound WHERE NOT EXISTS (SELECT FROM bound WHERE status <> 'active')
    ON CONFLICT DO NOTHING), ${USED} ${SUPPLIED}`;
const PULL = `
  WITH ${boundTo(`on_demand`)},
  noted AS (
    INSERT INTO credential_pull (account_id, agent_id, worker_id, credential_id, version)
    SELECT $1, $2, $3, id, version FROM bound WHERE status = 'active'
    ON CONFLICT (account_id, agent_id, worker_id, credential_id, version) DO UPDATE SET pulled_at = now()), ${USED} ${SUPPLIED}`;

export interface Recipient {
  readonly agentId: string;
  readonly workerId: string;
}

/** Notes what goes out with a run, and returns it. One disabled credential among them: nothing goes out, nothing is noted. */
export function handOutRows(
  ctx: OpContext,
  { agentId, workerId, runId, attempt }: Recipient & { readonly runId: string; readonly attempt: number },
): Promise<SuppliedRow[]> {
  return ctx.sql<SuppliedRow>(HAND_OUT, [ctx.actor.accountId, agentId, workerId, runId, attempt]);
}

/** Notes what a worker gets outside of a run, and returns it; disabled ones are among the rows and are not to be given. */
export function pullRows(ctx: OpContext, { agentId, workerId }: Recipient): Promise<SuppliedRow[]> {
  return ctx.sql<SuppliedRow>(PULL, [ctx.actor.accountId, agentId, workerId]);
}
