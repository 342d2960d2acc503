import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { isHandle } from './worker-tokens.policy.ts';

/** An agent's handle, or its id: whatever names an agent, here and in every other room. */
export const AgentName = z
  .string()
  .refine(isHandle, 'must have 1 to 200 characters, none of them a slash or a control character, and stand in a path');

const CreateWorkerTokenRequest = z
  .strictObject({
    agentId: AgentName,
    credentialRef: z.string().nullish(),
    ttlSeconds: z.int().min(1).max(86_400).nullish(),
  })
  .meta({ id: 'CreateWorkerTokenRequest' });

const CreateWorkerTokenResponse = z
  .object({
    token: z.string(),
    agentId: z.string(),
    workerTokenHint: z.string(),
    expiresAt: z.string().nullish(),
  })
  .meta({ id: 'CreateWorkerTokenResponse' });

const validity = {
  createdAt: z.string().nullish(),
  expired: z.boolean().default(false),
  expiresAt: z.string().nullish(),
  lastRotatedAt: z.string().nullish(),
};

const WorkerTokenStatusResponse = z
  .object({ agentId: z.string(), exists: z.boolean(), ...validity })
  .meta({ id: 'WorkerTokenStatusResponse' });

const WorkerTokenSummaryResponse = z
  .object({
    agentId: z.string(),
    idSlug: z.string().nullish(),
    name: z.string().nullish(),
    agentStatus: z.enum(['online', 'offline', 'draft', 'unregistered']).default('unregistered'),
    isArchived: z.boolean().default(false),
    exists: z.boolean().default(true),
    ...validity,
  })
  .meta({ id: 'WorkerTokenSummaryResponse' });

const path = z.object({ agent_id: AgentName });

export const rotateWorkerToken = operation({
  id: 'agents.rotate_worker_token',
  summary: 'Makes the worker token of a handle and shows it once; the one before is dead when this answers.',
  http: { method: 'POST', path: '/api/v1/agents/worker-token', status: 200 },
  capability: 'worker_token.rotate',
  operatorsOnly: true,
  scope: ({ agentId }) => ({ agent: agentId }),
  audit: { action: 'worker_token.rotate', target: ({ agentId }) => ['agent', agentId] },
  input: { body: CreateWorkerTokenRequest },
  output: CreateWorkerTokenResponse,
  faults: [],
});

export const listWorkerTokens = operation({
  id: 'agents.list_worker_tokens',
  summary: 'Lists the handles that have a worker token, also those whose agent never connected.',
  http: { method: 'GET', path: '/api/v1/agents/worker-tokens', status: 200 },
  capability: 'worker_token.read',
  audit: { action: 'worker_token.read', target: () => ['worker_token', ''] },
  input: {},
  output: z.array(WorkerTokenSummaryResponse),
  faults: [],
});

export const workerTokenStatus = operation({
  id: 'agents.worker_token_status',
  summary: 'Says whether an agent, or a handle without one yet, has a worker token, and until when.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/token', status: 200 },
  capability: 'worker_token.read',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path },
  output: WorkerTokenStatusResponse,
  faults: [],
});

export const revokeWorkerToken = operation({
  id: 'agents.revoke_worker_token',
  summary: 'Revokes the worker token of an agent: when this answers, no replica takes it any more. May be repeated.',
  http: { method: 'DELETE', path: '/api/v1/agents/{agent_id}/token', status: 204 },
  capability: 'worker_token.revoke',
  operatorsOnly: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'worker_token.revoke', target: ({ agent_id }) => ['agent', agent_id] },
  input: { path },
  output: empty,
  faults: [],
});
