import { fault } from '../../platform/faults/faults.ts';

export const AgentPolicyChanged = fault(
  'agent_policy.changed',
  'conflict',
  'Another version of the policy is in force: read it and decide again',
);
