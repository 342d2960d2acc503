import type { OpContext } from '../../platform/operation/operation.ts';
import type { Move } from './attempts.policy.ts';

const MOVES = `
  SELECT log.at, log.attempt, log.event ->> 'status' AS status, log.event ->> 'worker_id' AS worker_id, log.event ->> 'code' AS code,
         coalesce(nullif(log.event::jsonb -> 'detail', 'null'), '{}') AS detail
    FROM run
    JOIN run_log AS log ON log.account_id = run.account_id AND log.run_id = run.id AND log.day = run.day
   WHERE run.account_id = $1 AND run.id = $2 AND log.type = 'run.status'
   ORDER BY log.seq`;

/** Every move of a run, its making first. None: there is no such run in the account. */
export function readMoves(ctx: OpContext, runId: string): Promise<Move[]> {
  return ctx.sql<Move>(MOVES, [ctx.actor.accountId, runId]);
}
