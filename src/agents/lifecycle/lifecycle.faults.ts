import { fault } from '../../platform/faults/faults.ts';

export const AgentArchived = fault('agent.archived', 'conflict', 'The agent is archived and takes no new runs');
export const AgentDisabled = fault(
  'agent.disabled',
  'conflict',
  'The agent is disabled: nothing that fires by itself starts its runs',
);
