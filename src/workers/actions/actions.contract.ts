import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { WorkerNotFound, WorkerPath } from '../fleet/fleet.contract.ts';
import { ActionUnsupported, NoChannel } from './actions.faults.ts';
import { ACTIONS } from './actions.policy.ts';

const Text = z.string().nullable();
const WorkerAction = z
  .object({
    action_id: z.string(),
    worker_id: z.string(),
    action: z.enum(ACTIONS),
    state: z.enum(['sent', 'acknowledged', 'declined', 'done', 'expired']),
    detail: Text,
    created_at: z.string(),
    acked_at: Text,
    done_at: Text,
    created_by: z.string(),
    reason: Text,
  })
  .meta({ id: 'WorkerAction' });

export const actOnWorker = operation({
  id: 'workers.act',
  summary: 'Stops, spares or examines one worker.',
  http: { method: 'POST', path: '/api/v1/workers/{worker_id}/actions', status: 200 },
  capability: 'worker.act',
  operatorsOnly: true,
  ours: true,
  audit: { action: 'worker.action', target: ({ worker_id }) => ['worker', worker_id] },
  scope: ({ worker_id }) => ({ worker: worker_id }),
  input: {
    path: WorkerPath,
    body: z
      .object({ action: z.enum(ACTIONS), reason: z.string().max(2_000).nullish(), params: freeObject().optional() })
      .meta({ id: 'WorkerActionRequest' }),
  },
  output: WorkerAction,
  faults: [WorkerNotFound, NoChannel, ActionUnsupported],
});

export const listWorkerActions = operation({
  id: 'workers.actions',
  summary: 'Lists what was asked of a worker and what became of it, newest first.',
  http: { method: 'GET', path: '/api/v1/workers/{worker_id}/actions', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ worker_id }) => ({ worker: worker_id }),
  input: {
    path: WorkerPath,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(WorkerAction),
  faults: [WorkerNotFound],
});

export const acknowledgeAction = operation({
  id: 'workers.action_ack',
  summary: 'Answers an action that a worker was asked for.',
  frame: { type: 'worker_action_ack' },
  capability: workerToken,
  audit: unaudited('what was asked is on record; the answer is kept with it'),
  input: {
    path: WorkerPath,
    body: z.object({ action_id: z.string().max(200), accepted: z.boolean(), detail: z.string().nullish() }),
  },
  output: empty,
  faults: [],
});
