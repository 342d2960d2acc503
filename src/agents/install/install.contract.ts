import { z } from 'zod';
import { freeObject, isJsonObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { AgentLive } from '../drafts/drafts.faults.ts';
import { AgentRef } from '../registry/registry.contract.ts';

/** Free but for its name; an object of zod would drop `__proto__`. */
const CreateAgentMcpServer = freeObject()
  .check(({ value, issues }) => {
    if (isJsonObject(value) && typeof value['name'] !== 'string')
      issues.push({ code: 'invalid_type', expected: 'string', path: ['name'], input: undefined });
  })
  .meta({
    id: 'CreateAgentMcpServer',
    type: 'object',
    properties: { name: { type: 'string' } },
    required: ['name'],
    additionalProperties: true,
  });

const CreateAgentSkill = z.strictObject({ id: z.string(), content: z.string() }).meta({ id: 'CreateAgentSkill' });

const CreateAgentRequest = z
  .strictObject({
    agentId: AgentRef,
    instructions: z.string(),
    displayName: z.string().default(''),
    model: z.string().default('claude-sonnet-4-6'),
    replicaCount: z.int().min(1).default(1),
    mcpServers: z.array(CreateAgentMcpServer).default([]),
    skills: z.array(CreateAgentSkill).default([]),
    anthropicApiKey: z.string().nullish(),
    credentialRef: z.string().nullish(),
    ttlSeconds: z.int().min(1).max(86_400).nullish(),
  })
  .meta({ id: 'CreateAgentRequest' });

const CreateAgentResponse = z
  .object({
    command: z.string(),
    values: z.string(),
    agentId: z.string(),
    workerTokenHint: z.string(),
    expiresAt: z.string().nullish(),
  })
  .meta({ id: 'CreateAgentResponse' });

export const createAgent = operation({
  id: 'agents.create',
  summary:
    'Makes the worker token of an agent that is not live yet, and the text by which its first worker is started. Nothing is deployed.',
  http: { method: 'POST', path: '/api/v1/agents', status: 200 },
  capability: 'agent.create',
  operatorsOnly: true,
  scope: ({ agentId }) => ({ agent: agentId }),
  audit: { action: 'agent.create', target: ({ agentId }) => ['agent', agentId] },
  input: { body: CreateAgentRequest },
  output: CreateAgentResponse,
  faults: [AgentLive],
});
