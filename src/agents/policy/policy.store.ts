import { writeJson } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { OwnTerms, PolicyRow } from './terms.policy.ts';

const FIND = `
  SELECT version, retry, silent_limit_seconds, run_limit_seconds, queue_ttl_seconds, invoke_unreachable_after_seconds, max_offers,
         max_concurrent_runs, max_queued_runs, updated_at, updated_by
    FROM agent_policy WHERE account_id = $1 AND agent_id = $2`;

const NEVER_SET: PolicyRow = {
  version: 0,
  retry: null,
  silent_limit_seconds: null,
  run_limit_seconds: null,
  queue_ttl_seconds: null,
  invoke_unreachable_after_seconds: null,
  max_offers: null,
  max_concurrent_runs: null,
  max_queued_runs: null,
  updated_at: null,
  updated_by: null,
};

export async function findPolicy(ctx: OpContext, agentId: string): Promise<PolicyRow> {
  return (await ctx.sql<PolicyRow>(FIND, [ctx.actor.accountId, agentId]))[0] ?? NEVER_SET;
}

const REPLACE = `
  INSERT INTO agent_policy (account_id, agent_id, updated_by, retry, silent_limit_seconds, run_limit_seconds, queue_ttl_seconds,
                            invoke_unreachable_after_seconds, max_offers, max_concurrent_runs, max_queued_runs)
  VALUES ($1, $2, $3, $4::jsonb, $5, $6, $7, $8, $9, $10, $11)
  ON CONFLICT (account_id, agent_id) DO UPDATE SET
    version = agent_policy.version + 1, updated_at = now(), updated_by = excluded.updated_by, retry = excluded.retry,
    silent_limit_seconds = excluded.silent_limit_seconds, run_limit_seconds = excluded.run_limit_seconds,
    queue_ttl_seconds = excluded.queue_ttl_seconds, invoke_unreachable_after_seconds = excluded.invoke_unreachable_after_seconds,
    max_offers = excluded.max_offers, max_concurrent_runs = excluded.max_concurrent_runs, max_queued_runs = excluded.max_queued_runs
  RETURNING version, updated_at, updated_by`;

/** The caller holds the agent's lock, so that the version that it has seen is the one that this follows. */
export async function replacePolicy(ctx: OpContext, agentId: string, terms: OwnTerms): Promise<PolicyRow> {
  const [row] = await ctx.sql<Pick<PolicyRow, 'version' | 'updated_at' | 'updated_by'>>(REPLACE, [
    ctx.actor.accountId,
    agentId,
    ctx.actor.id,
    terms.retry && writeJson(terms.retry),
    terms.silent_limit_seconds,
    terms.run_limit_seconds,
    terms.queue_ttl_seconds,
    terms.invoke_unreachable_after_seconds,
    terms.max_offers,
    terms.max_concurrent_runs,
    terms.max_queued_runs,
  ]);
  return { ...NEVER_SET, ...terms, ...row };
}
