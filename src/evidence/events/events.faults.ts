import { fault } from '../../platform/faults/faults.ts';

export const TooManyEvents = fault('event.too_many', 'too_large', 'A batch holds at most 1,000 events');
/** A message has an answer of its own, so whoever sends one too late is told; it is kept as late evidence. */
export const RunTerminal = fault('run.terminal', 'conflict', 'The run has ended: this was kept as late evidence');
export const RunStaleAttempt = fault(
  'run.stale_attempt',
  'conflict',
  'Another worker or attempt holds the run: this was kept as late evidence',
);
