import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { ReasonRequest } from '../../platform/operation/reason.ts';
import { AgentRef, QueueState } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';

const path = z.object({ agent_id: AgentRef });
const changes = {
  capability: 'agent.update',
  operatorsOnly: true,
  ours: true,
  scope: ({ agent_id }: { readonly agent_id: string }) => ({ agent: agent_id }),
  input: { path, body: ReasonRequest },
  output: QueueState,
  faults: [AgentNotFound],
} as const;
const target = ({ agent_id }: { readonly agent_id: string }) => ['agent', agent_id] as const;

export const getQueue = operation({
  id: 'agents.get_queue',
  summary: 'Says whether an agent’s queue is open, how long it is and how old.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/queue', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path },
  output: QueueState,
  faults: [AgentNotFound],
});

export const pauseQueue = operation({
  ...changes,
  id: 'agents.pause_queue',
  summary: 'Hands out nothing of an agent’s queue any more; new runs are accepted and wait. May be repeated.',
  http: { method: 'POST', path: '/api/v1/agents/{agent_id}/queue/pause', status: 200 },
  audit: { action: 'agent_queue.pause', target },
});

export const drainQueue = operation({
  ...changes,
  id: 'agents.drain_queue',
  summary: 'Takes no new runs of an agent; what is queued is handed out. May be repeated.',
  http: { method: 'POST', path: '/api/v1/agents/{agent_id}/queue/drain', status: 200 },
  audit: { action: 'agent_queue.drain', target },
});

export const resumeQueue = operation({
  ...changes,
  id: 'agents.resume_queue',
  summary: 'Takes and hands out an agent’s runs again. May be repeated.',
  http: { method: 'POST', path: '/api/v1/agents/{agent_id}/queue/resume', status: 200 },
  audit: { action: 'agent_queue.resume', target },
});
