import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';

export const WorkerPath = z.object({ worker_id: z.string().min(1).max(200) });

/** What a worker is handed (worker-protocol.md §8.1). The members after `mcp_group_name` are ours: the SDK ignores them. */
const Job = z.object({
  run_id: z.string(),
  agent_id: z.string(),
  input: freeObject(),
  /** The state of the session that it goes on with, as a worker left it. */
  snapshot: freeObject().optional(),
  event_id: z.string(),
  /** Texts by name, or several under a name (worker-protocol.md A12). */
  secrets: freeObject(),
  attempt: z.int(),
  thread_id: z.string(),
  parent_run_id: z.string().nullable(),
  origin: z.object({ kind: z.string(), id: z.string().nullable() }),
  request_id: z.string(),
  traceparent: z.string().nullable(),
  /** When the run must have ended, over all attempts. */
  deadline: z.string(),
  /** As the bundle has them (worker-protocol.md §13); absent where nothing was ever set. */
  config_version: z.string().optional(),
  skills_version: z.string().optional(),
  action_rules_version: z.string().optional(),
});

/** The SDK registers again, and after three of these in a row its process ends. */
export const WorkerNotRegistered = fault(
  'worker.not_registered',
  'not_found',
  'This worker is not registered; it registers first',
);

export const claimRun = operation({
  id: 'dispatch.claim',
  summary: 'Hands a worker the oldest queued run of its agent.',
  frame: { type: 'run_claim', reply: 'run_assignment', calm: {} },
  transaction: 'none', // most claims find nothing; the one that finds something takes a short transaction itself
  capability: workerToken,
  audit: unaudited('the run’s own history says who claimed it'),
  input: {
    path: WorkerPath,
    body: z.object({ holds: z.array(z.string()).max(1_000).optional(), draining: z.boolean().optional() }),
  },
  output: z.object({ job: Job.optional() }),
  faults: [WorkerNotRegistered],
});

/** What a worker of SDK 0.1 is handed (worker-protocol.md §20): of it nothing is named that the SDK does not read. */
const RunJob = z
  .object({
    run_id: z.string(),
    agent_id: z.string(),
    event_id: z.string().nullable().optional(),
    input: freeObject(),
    secrets: freeObject()
      .meta({ type: 'object', additionalProperties: { type: 'string' } })
      .optional(),
    snapshot: freeObject().nullable().optional(),
  })
  .meta({ id: 'RunJob' });

export const pollRun = operation({
  id: 'dispatch.poll',
  summary: 'Hands a worker that knows no frames the oldest queued run of its agent.',
  http: { method: 'POST', path: '/api/v1/workers/{worker_id}/runs/claim', status: 200 },
  transaction: 'none', // as the frame
  capability: workerToken,
  audit: unaudited('the run’s own history says who claimed it'),
  input: {
    path: WorkerPath,
    /** Read and not heeded: the token decides. */
    body: z.object({ agent_id: z.string() }).meta({ id: 'PollNextRunRequest' }),
  },
  output: z.object({ job: RunJob.nullable().optional() }).meta({ id: 'ClaimRunResponse' }),
  faults: [WorkerNotRegistered],
});
