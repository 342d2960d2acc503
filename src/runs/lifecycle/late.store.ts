import type { OpContext } from '../../platform/operation/operation.ts';
import type { HolderFacts } from './late.policy.ts';

const FACTS = `
  SELECT agent_id, status, worker_id, attempt, day::text AS day, is_withheld,
         (SELECT max(attempt) FROM run_log AS log
           WHERE log.account_id = $1 AND log.run_id = $2 AND log.day = run.day AND log.type = 'run.status' AND log.event ->> 'worker_id' = $3
             AND log.event ->> 'status' IN ('claimed', 'running')) AS own_attempt
    FROM run WHERE account_id = $1 AND id = $2`;

/** Why somebody did not find a run as it should be. Rare, so it may look through the run's history. */
export async function factsOfHolder(
  { actor, sql }: Pick<OpContext, 'actor' | 'sql'>,
  { runId, workerId }: { readonly runId: string; readonly workerId: string },
): Promise<HolderFacts | undefined> {
  return (await sql<HolderFacts>(FACTS, [actor.accountId, runId, workerId]))[0];
}
