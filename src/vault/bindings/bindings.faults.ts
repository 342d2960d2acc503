import { fault } from '../../platform/faults/faults.ts';

export const BindingNotFound = fault(
  'credential.binding_not_found',
  'not_found',
  'The credential is not bound to this agent',
);
export const BoundAgentNotFound = fault(
  'credential.agent_not_found',
  'not_found',
  'There is no such agent, and nothing is bound to one of that name',
);
