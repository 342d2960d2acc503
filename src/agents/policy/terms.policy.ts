import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { Config } from '../../platform/config/config.ts';
import type { In } from '../../platform/operation/operation.ts';
import { RetryPolicy, type AgentPolicy, type putPolicy } from './policy.contract.ts';

/** What an operator decided for an agent; null where the installation's default holds. */
export interface OwnTerms {
  readonly retry: z.output<typeof RetryPolicy> | null;
  readonly silent_limit_seconds: number | null;
  readonly run_limit_seconds: number | null;
  readonly queue_ttl_seconds: number | null;
  readonly invoke_unreachable_after_seconds: number | null;
  readonly max_offers: number | null;
  readonly max_concurrent_runs: number | null;
  readonly max_queued_runs: number | null;
}

export interface PolicyRow extends OwnTerms {
  /** 0: nobody has ever decided anything. */
  readonly version: number;
  readonly updated_at: Date | null;
  readonly updated_by: string | null;
}

/** Nothing that was started is started again, unless an operator says so. */
const NO_RETRY = RetryPolicy.parse({ on: [] });

/** What is decided by a body that replaces: a field that is not there is one that is null. */
export function termsOf(input: In<typeof putPolicy>): OwnTerms {
  return {
    retry: input.retry ?? null,
    silent_limit_seconds: input.silent_limit_seconds ?? null,
    run_limit_seconds: input.run_limit_seconds ?? null,
    queue_ttl_seconds: input.queue_ttl_seconds ?? null,
    invoke_unreachable_after_seconds: input.invoke_unreachable_after_seconds ?? null,
    max_offers: input.max_offers ?? null,
    max_concurrent_runs: input.max_concurrent_runs ?? null,
    max_queued_runs: input.max_queued_runs ?? null,
  };
}

/** The terms of a row alone. */
export function ownTerms({ version: _, updated_at: _at, updated_by: _by, ...terms }: PolicyRow): OwnTerms {
  return terms;
}

type Defaults = Pick<
  Config,
  'silentLimitSeconds' | 'runLimitSeconds' | 'queueTtlSeconds' | 'invokeUnreachableSeconds' | 'maxOffers'
>;

/** The policy in force: each field as it was decided, else as the installation has it, and which ones those are. */
export function policyView(agentId: string, row: PolicyRow, defaults: Defaults): z.input<typeof AgentPolicy> {
  const terms = ownTerms(row);
  return {
    agent_id: agentId,
    version: row.version,
    updated_at: row.updated_at && wireTime(row.updated_at),
    updated_by: row.updated_by,
    retry: terms.retry ?? NO_RETRY,
    silent_limit_seconds: terms.silent_limit_seconds ?? defaults.silentLimitSeconds,
    run_limit_seconds: terms.run_limit_seconds ?? defaults.runLimitSeconds,
    queue_ttl_seconds: terms.queue_ttl_seconds ?? defaults.queueTtlSeconds,
    invoke_unreachable_after_seconds: terms.invoke_unreachable_after_seconds ?? defaults.invokeUnreachableSeconds,
    max_offers: terms.max_offers ?? defaults.maxOffers,
    max_concurrent_runs: terms.max_concurrent_runs,
    max_queued_runs: terms.max_queued_runs,
    defaults: Object.entries(terms).flatMap(([name, value]) => (value === null ? [name] : [])),
  };
}
