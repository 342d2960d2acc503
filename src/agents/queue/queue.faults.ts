import { fault } from '../../platform/faults/faults.ts';

export const AgentDraining = fault(
  'agent.draining',
  'conflict',
  'The agent’s queue is being drained and takes no new runs',
);
