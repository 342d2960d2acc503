import type { OpContext } from '../../platform/operation/operation.ts';

const ATTEMPT = 'SELECT attempt FROM run_facts WHERE account_id = $1 AND id = $2 AND worker_id = $3';

/** In which attempt the worker has the run, or had it last. Undefined when it is another's, nobody's, or not there. */
export async function attemptOf(
  ctx: OpContext,
  { runId, workerId }: { readonly runId: string; readonly workerId: string },
): Promise<number | undefined> {
  const [row] = await ctx.sql<{ attempt: number }>(ATTEMPT, [ctx.actor.accountId, runId, workerId]);
  return row?.attempt;
}
