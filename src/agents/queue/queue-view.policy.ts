import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { QueueState } from '../registry/registry.contract.ts';
import type { QueueLength, QueueRow } from './queue.store.ts';

/** An agent's queue as the wire has it. */
export function queueView(
  { state, since, changed_by: by, reason }: QueueRow,
  { queued, active, oldest_queued_at: oldest }: QueueLength,
): z.input<typeof QueueState> {
  const oldest_queued_at = oldest && wireTime(oldest);
  return { scope: 'agent', state, since: since && wireTime(since), by, reason, queued, active, oldest_queued_at };
}
