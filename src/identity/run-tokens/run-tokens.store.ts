import type { Database } from '../../platform/db/database.ts';
import type { RunClaim } from './run-token.policy.ts';

const LIVES = `
  SELECT r.worker_id AS "workerId" FROM run_facts r JOIN account a ON a.id = r.account_id AND a.status = 'active'
   WHERE r.account_id = $1 AND r.id = $2 AND r.agent_id = $3 AND r.attempt = $4 AND r.status IN ('claimed', 'running')`;

/** Who holds the run in this attempt now; undefined where nobody does. */
export async function findHolder(
  database: Database,
  { accountId, runId, agentId, attempt }: RunClaim,
): Promise<{ readonly workerId: string } | undefined> {
  const statement = { text: LIVES, values: [accountId, runId, agentId, attempt] };
  return (await database.acrossAccounts<{ workerId: string }>(statement))[0];
}
