import { fault } from '../../platform/faults/faults.ts';

export const RunNotFound = fault('run.not_found', 'not_found', 'There is no such run');
export const AgentQueueFull = fault(
  'limit.agent_queue',
  'limited',
  'As many runs of this agent wait as its policy allows',
);
export const AccountQueueFull = fault('limit.account_queue', 'limited', 'As many runs wait as the account allows');
