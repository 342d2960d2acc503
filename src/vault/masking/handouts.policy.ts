/** Where a statement has a run's account, its id, its agent and the worker that speaks of it. */
export interface HandoutPlaces {
  readonly account: string;
  readonly run: string;
  readonly agent: string;
  readonly worker: string;
}

/** Nothing was ever handed out. */
export const NOTHING_OUT = '0/0';

/**
 * SQL that tells, as a text, up to where things were handed out that a worker may say about a run. It is another text as soon
 * as there may be more: a worker has a value only after the transaction that says so here was committed.
 */
export function handedOut({ account, run, agent, worker }: HandoutPlaces): string {
  return `concat_ws('/',
    (SELECT count(*) FROM run_handouts WHERE account_id = ${account} AND run_id = ${run}),
    (SELECT count(*) FROM agent_pulls WHERE account_id = ${account} AND agent_id = ${agent} AND worker_id = ${worker}),
    (SELECT extract(epoch FROM max(pulled_at)) FROM agent_pulls WHERE account_id = ${account} AND agent_id = ${agent}))`;
}
