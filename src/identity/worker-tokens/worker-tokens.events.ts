import { z } from 'zod';
import { event } from '../../platform/outbox/event.ts';

/** A worker token opens nothing any more: it was revoked, or another took its place. */
export const WorkerTokenRevoked = event(
  'worker_token.revoked',
  z.object({ token_id: z.string(), agent_id: z.string() }),
);
