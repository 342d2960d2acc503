import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { AgentInstanceResponse, AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';
import { AgentLive } from './drafts.faults.ts';

/** What people call an agent before a worker says it; it stands in lists. */
export const DisplayName = z.string().max(1_000);

export const createDraft = operation({
  id: 'agents.create_draft',
  summary: 'Makes an agent that no worker has registered for yet. A draft of this name is answered as it stands.',
  http: { method: 'POST', path: '/api/v1/agents/drafts', status: 200 },
  capability: 'agent.create',
  operatorsOnly: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'agent.create_draft', target: ({ agent_id }) => ['agent', agent_id] },
  input: {
    body: z
      .object({ agent_id: AgentRef, config: freeObject().optional(), display_name: DisplayName.default('') })
      .meta({ id: 'CreateAgentDraftRequest' }),
  },
  output: AgentInstanceResponse,
  faults: [AgentLive],
});

export const updateDraft = operation({
  id: 'agents.update_draft',
  summary: 'Keeps what somebody is writing into a draft. What is left out stays; the last word counts.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/draft', status: 200 },
  capability: 'agent.update',
  operatorsOnly: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'agent.update_draft', target: ({ agent_id }) => ['agent', agent_id] },
  input: {
    path: z.object({ agent_id: AgentRef }),
    body: z
      .object({ config: freeObject().nullish(), display_name: DisplayName.nullish() })
      .meta({ id: 'UpdateAgentDraftRequest' }),
  },
  output: AgentInstanceResponse,
  faults: [AgentNotFound, AgentLive],
});
