import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { fault } from '../../platform/faults/faults.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';

/** Any text without control characters: workers choose their ids. */
const WorkerId = z
  .string()
  .min(1)
  .max(200)
  .regex(/^\P{Cc}+$/u, 'must not hold control characters');
export const WorkerPath = z.object({ worker_id: WorkerId });

export const WorkerNotFound = fault('worker.not_found', 'not_found', 'There is no such worker');

export const WorkerOnline = fault('worker.online', 'conflict', 'The worker is online');

const Text = z.string().nullable();
const Light = z
  .object({ state: z.enum(['ok', 'stale', 'down', 'unknown', 'unused']), since: Text, last_at: Text, why: Text })
  .meta({ id: 'Light' });
export const Lights = z.object({ process: Light, channel: Light, claim: Light, events: Light }).meta({ id: 'Lights' });

const view = {
  worker_id: z.string(),
  agent_id: z.string(),
  agent_name: z.string(),
  generation: z.int().nullable(),
  version: z.string(),
  sdk_version: Text,
  dialect: z.enum(['0.1', '0.2', '0.3']),
  delivery: z.array(z.enum(['channel', 'claim', 'direct'])),
  endpoint_url: Text,
  cluster_name: Text,
  namespace: Text,
  pod_name: Text,
  state: z.enum(['online', 'offline']),
  lost: z.object({ at: z.string(), rule: z.string() }).nullable(),
  mode: z.enum(['normal', 'draining', 'paused', 'lame_duck']),
  assignable: z.boolean(),
  excluded_by: Text,
  presence: z.object({
    last_seen_at: z.string(),
    window_seconds: z.number(),
    offline_at: z.string(),
    last_path: z.enum(['heartbeat', 'frame', 'claim', 'pong', 'channel']),
  }),
  lights: Lights,
  slots: z.object({ total: z.int(), busy: z.int() }),
  runs: z.array(z.object({ run_id: z.string(), attempt: z.int(), status: z.string(), since: z.string() })),
  registered_at: z.string(),
};

export const WorkerView = z.object(view).meta({ id: 'WorkerView' });

export const WorkerDetail = z
  .object({
    ...view,
    manifest: freeObject(),
    claimed_handle: Text,
    config: z.object({ wanted_version: z.string(), applied_version: Text, unsupported_ops: z.array(z.string()) }),
    channel: z.object({
      replica_id: Text,
      opened_at: Text,
      round_trip_ms: z.number().nullable(),
      closed_by: z.enum(['worker', 'us', 'unknown']).nullable(),
    }),
    direct: z.object({ last_result: Text, last_at: Text }),
    token: z.object({ state: z.string(), expires_at: Text }),
    refused_frames: z.array(z.object({ at: z.string(), type: z.string(), code: z.string() })),
    health: z.object({ ok: z.boolean(), detail: Text, at: z.string() }).nullable(),
    models: z.array(z.object({ base_url: z.string(), models: z.array(z.string()) })),
    ids_of_process: z.array(z.string()),
  })
  .meta({ id: 'WorkerDetail' });

export const listWorkers = operation({
  id: 'workers.list',
  summary: 'Lists the registered workers, with what is wrong with each.',
  http: { method: 'GET', path: '/api/v1/workers', status: 200 },
  capability: 'agent.read',
  ours: true,
  input: {
    query: z.object({
      agent_id: AgentName.optional(),
      state: z.enum(['online', 'offline']).optional(),
      q: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(WorkerView),
  faults: [],
});

export const getWorker = operation({
  id: 'workers.get',
  summary: 'Shows a worker, with the boundary that failed.',
  http: { method: 'GET', path: '/api/v1/workers/{worker_id}', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ worker_id }) => ({ worker: worker_id }),
  input: { path: WorkerPath },
  output: WorkerDetail,
  faults: [WorkerNotFound],
});

export const forgetWorker = operation({
  id: 'workers.forget',
  summary: 'Forgets a worker that is offline and holds no run; what it did stays with its runs.',
  http: { method: 'DELETE', path: '/api/v1/workers/{worker_id}', status: 204 },
  capability: 'worker.act',
  operatorsOnly: true,
  ours: true,
  audit: { action: 'worker.forget', target: ({ worker_id }) => ['worker', worker_id] },
  scope: ({ worker_id }) => ({ worker: worker_id }),
  input: { path: WorkerPath },
  output: empty,
  faults: [WorkerNotFound, WorkerOnline],
});
