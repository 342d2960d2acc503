import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AgentInstanceResponse, AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';

const changes = {
  capability: 'agent.update',
  scope: ({ agent_id }: { readonly agent_id: string }) => ({ agent: agent_id }),
  input: { path: z.object({ agent_id: AgentRef }) },
  output: AgentInstanceResponse,
  faults: [AgentNotFound],
} as const;
const target = ({ agent_id }: { readonly agent_id: string }) => ['agent', agent_id] as const;

export const enableAgent = operation({
  ...changes,
  id: 'agents.enable',
  summary: 'Lets automated triggers start an agent’s runs again. May be repeated.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/enable', status: 200 },
  audit: { action: 'agent.enable', target },
});

export const disableAgent = operation({
  ...changes,
  id: 'agents.disable',
  summary:
    'Keeps automated triggers from starting an agent’s runs. Whoever asks it still gets an answer, and its workers stay. May be repeated.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/disable', status: 200 },
  audit: { action: 'agent.disable', target },
});

export const archiveAgent = operation({
  ...changes,
  id: 'agents.archive',
  summary:
    'Takes an agent out of the lists. When this answers no new run of it is accepted; those that were go on. May be repeated.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/archive', status: 200 },
  audit: { action: 'agent.archive', target },
});

export const unarchiveAgent = operation({
  ...changes,
  id: 'agents.unarchive',
  summary: 'Puts an archived agent back into the lists; it takes runs again. May be repeated.',
  http: { method: 'PATCH', path: '/api/v1/agents/{agent_id}/unarchive', status: 200 },
  audit: { action: 'agent.unarchive', target },
});
