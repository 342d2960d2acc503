import { fault } from '../../platform/faults/faults.ts';

export const AgentNotFound = fault('agent.not_found', 'not_found', 'There is no such agent');
export const WrongAgent = fault(
  'worker.wrong_agent',
  'refused',
  'The manifest names another agent than the token speaks for',
);
export const InputChecksFull = fault(
  'input.checks_full',
  'unavailable',
  'Too many inputs are being checked: try again',
);
