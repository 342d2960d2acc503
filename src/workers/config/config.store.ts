import type { Database } from '../../platform/db/database.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Dialect } from '../registration/dialect.policy.ts';

const NOTE = `UPDATE worker SET config = config || $4::jsonb WHERE account_id = $1 AND id = $2 AND agent_id = $3`;

/** Adds to what is known of a worker's configuration. A registration begins with nothing. */
export async function noteConfig(ctx: OpContext, workerId: string, config: object): Promise<void> {
  await ctx.sql(NOTE, [ctx.actor.accountId, workerId, ctx.actor.id, JSON.stringify(config)]);
}

/** A worker that holds another configuration than the one in force. */
export interface OutdatedWorker {
  readonly account_id: string;
  readonly worker_id: string;
  readonly agent_id: string;
  readonly dialect: Dialect;
  readonly sdk_version: string | null;
  readonly version: string;
  readonly skills_version: string;
  readonly action_rules_version: string;
}

/**
 * Only who was handed one since its process registered: a worker that still starts is about to ask for it, and would end itself
 * over a version that it does not have yet.
 */
const outdated = (which: string): string => `
  SELECT w.account_id, w.id AS worker_id, w.agent_id, w.dialect, w.sdk_version, force.version, force.skills_version, force.action_rules_version
    FROM (SELECT DISTINCT ON (account_id, agent_id) * FROM agent_config_versions
           ORDER BY account_id, agent_id, revision DESC) AS force
    JOIN worker AS w ON w.account_id = force.account_id AND w.agent_id = force.agent_id
   WHERE ${which} AND w.registered_at IS NOT NULL
     AND w.config -> 'handed' <> jsonb_build_array(force.version, force.skills_version, force.action_rules_version)
   LIMIT 2000`;
const OF_AGENT = outdated('w.account_id = $1 AND w.agent_id = $2');
const OF_WORKER = outdated('w.account_id = $1 AND w.id = $2');
const ON_REPLICA = outdated('w.channel_replica = $1 AND w.channel_closed_at IS NULL');

export async function outdatedWorkers(
  database: Database,
  accountId: string,
  which: { readonly agentId: string } | { readonly workerId: string },
): Promise<OutdatedWorker[]> {
  const [text, id] = 'agentId' in which ? [OF_AGENT, which.agentId] : [OF_WORKER, which.workerId];
  return database.asAccount(
    accountId,
    (transaction) => transaction.query<OutdatedWorker & object>({ text, values: [accountId, id] }),
    'read',
  );
}

/** Those whose channel is on a replica. */
export async function outdatedOn(database: Database, replicaId: string): Promise<OutdatedWorker[]> {
  return database.acrossAccounts<OutdatedWorker & object>({ text: ON_REPLICA, values: [replicaId] });
}
