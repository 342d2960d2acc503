import { fault } from '../../platform/faults/faults.ts';

export const RunNotFound = fault('run.not_found', 'not_found', 'There is no such run');
export const RunNotRevivable = fault(
  'run.not_revivable',
  'conflict',
  'There is no session of this run that another could go on with',
);
export const AgentQueueFull = fault(
  'limit.agent_queue',
  'limited',
  'As many runs of this agent wait as its policy allows',
);
export const AccountQueueFull = fault('limit.account_queue', 'limited', 'As many runs wait as the account allows');
export const ListTooSlow = fault(
  'list.too_slow',
  'unavailable',
  'This would take too long: name a shorter range, or fewer filters',
);
/** Nothing is answered instead of what is not there (D-46): an empty answer would look like one. */
export const ContentWithheld = fault('content.withheld', 'conflict', 'Not available: the account keeps no content');
/** Whoever has an answer of its own and comes too late is told so; what it said is kept. */
export const RunTerminal = fault('run.terminal', 'conflict', 'The run has ended: this was kept as late evidence');
export const RunStaleAttempt = fault(
  'run.stale_attempt',
  'conflict',
  'Another worker or attempt holds the run: this was kept as late evidence',
);
