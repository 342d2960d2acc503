import type { OpContext } from '../../platform/operation/operation.ts';
import { LOGGED, moving } from '../lifecycle/log.store.ts';
import type { Moved } from './moves.store.ts';

/** A run that a worker has begun by itself. */
export interface Begun {
  /** As the worker calls it. */
  readonly runId: string;
  readonly agentId: string;
  readonly workerId: string;
  readonly eventId: string;
  /** JSON texts. */
  readonly input: string;
  readonly metadata: string;
  readonly usage: string | null;
  readonly channel: 'ui' | 'slack' | 'cron' | 'webhook' | 'api' | 'agent';
  /** Only a worker of the agent that has registered; otherwise any but another agent's. */
  readonly isOfRegistered: boolean;
}

/** It holds no slot: nobody handed it out, and the worker goes on asking for work (worker-protocol.md A16). */
const BEGIN = moving(
  `INSERT INTO run (account_id, id, day, agent_id, status, attempt, starts, worker_id, channel, transport, origin_kind, origin_id, created_by_kind,
                    created_by, request_id, traceparent, event_id, thread_id, input, input_bytes, metadata, last_seq, claimed_at, started_at,
                    first_claimed_at, usage, is_withheld)
   SELECT $1, $2, (now() AT TIME ZONE 'UTC')::date, $3, 'running', 1, 1, $4, $13, 'polling', 'agent', $3, $5, $6, $7, $8, $9, $2, $10::json, $11,
          $12::json, 1, now(), now(), now(), $14::jsonb, coalesce((SELECT content = 'metadata' FROM account_keeping WHERE account_id = $1), false)
    WHERE CASE WHEN $15::boolean THEN EXISTS (SELECT FROM worker_presence WHERE account_id = $1 AND id = $4 AND agent_id = $3)
          ELSE NOT EXISTS (SELECT FROM worker_presence WHERE account_id = $1 AND id = $4 AND agent_id <> $3 AND registered_at IS NOT NULL) END
   ON CONFLICT (account_id, id) DO NOTHING`,
  { kept: `${LOGGED}, agent_id`, returned: 'id, agent_id, status' },
);

/** Undefined when there is a run of this name already, or the worker may not begin one. */
export async function beginRow(ctx: OpContext, begun: Begun): Promise<Moved | undefined> {
  const { accountId, kind, id } = ctx.actor;
  const { runId, agentId, workerId, eventId, input, metadata, channel, usage, isOfRegistered } = begun;
  const [row] = await ctx.sql<Moved>(BEGIN, [
    ...[accountId, runId, agentId, workerId, kind, id, ctx.requestId, ctx.traceparent ?? null, eventId],
    ...[input, Buffer.byteLength(input), metadata, channel, usage, isOfRegistered],
  ]);
  return row;
}
