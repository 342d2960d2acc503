import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';
import { AgentPolicyChanged } from './policy.faults.ts';

/** As many as a column of counts holds. */
const MOST = 2_147_483_647;

/** Each at most once: a list comes back as it was sent, so a repeat would be kept and say nothing. */
const RetriedEnds = z
  .array(z.enum(['worker_lost', 'delivery_lost', 'failed']))
  .check(({ value, issues }) => {
    if (!Array.isArray(value)) return;
    const at = value.findIndex((end, index) => value.indexOf(end) !== index);
    if (at >= 0) issues.push({ code: 'custom', path: [at], message: 'is in the list already', input: value });
  })
  .meta({ uniqueItems: true });

/** After which ends a run is started again, how often, and after what pauses. `max_attempts` counts starts. */
export const RetryPolicy = z
  .strictObject({
    on: RetriedEnds,
    max_attempts: z.int().min(1).max(10).default(1),
    backoff_seconds: z.number().min(0).max(3_600).default(5),
    factor: z.number().min(1).max(10).default(2),
    max_backoff_seconds: z.number().min(0).max(86_400).default(300),
  })
  .meta({ id: 'RetryPolicy' });

const days30 = 2_592_000;
const AgentPolicyInput = z
  .strictObject({
    retry: RetryPolicy.nullish(),
    silent_limit_seconds: z.int().min(5).max(86_400).nullish(),
    run_limit_seconds: z.int().min(1).max(days30).nullish(),
    queue_ttl_seconds: z.int().min(1).max(days30).nullish(),
    invoke_unreachable_after_seconds: z.int().min(1).max(3_600).nullish(),
    max_offers: z.int().min(1).max(20).nullish(),
    max_concurrent_runs: z.int().min(1).max(MOST).nullish(),
    max_queued_runs: z.int().min(1).max(MOST).nullish(),
    base_version: z.int().min(0).max(MOST).nullish(),
  })
  .meta({ id: 'AgentPolicyInput' });

/** What is in force. An installation's own default may be a fraction of a second. */
export const AgentPolicy = z
  .object({
    agent_id: z.string(),
    version: z.int(),
    updated_at: z.string().nullable(),
    updated_by: z.string().nullable(),
    retry: z.object(RetryPolicy.shape), // without its name: an answer has all of it
    silent_limit_seconds: z.number(),
    run_limit_seconds: z.number(),
    queue_ttl_seconds: z.number(),
    invoke_unreachable_after_seconds: z.number(),
    max_offers: z.int(),
    max_concurrent_runs: z.int().nullable(),
    max_queued_runs: z.int().nullable(),
    defaults: z.array(z.string()),
  })
  .meta({ id: 'AgentPolicy' });

const path = z.object({ agent_id: AgentRef });

export const getPolicy = operation({
  id: 'agents.get_policy',
  summary:
    'Shows what happens to an agent’s runs when a worker is silent, dead or absent, and how many may be out or wait.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/policy', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path },
  output: AgentPolicy,
  faults: [AgentNotFound],
});

export const putPolicy = operation({
  id: 'agents.put_policy',
  summary: 'Replaces an agent’s policy, for runs in flight too; what is left out stands at the installation’s default.',
  http: { method: 'PUT', path: '/api/v1/agents/{agent_id}/policy', status: 200 },
  capability: 'agent.update',
  operatorsOnly: true,
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'agent_policy.update', target: ({ agent_id }) => ['agent', agent_id] },
  input: { path, body: AgentPolicyInput },
  output: AgentPolicy,
  faults: [AgentNotFound, AgentPolicyChanged],
});
