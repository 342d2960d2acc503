import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { longList } from '../../platform/operation/output.ts';
import { AgentNotFound } from './registry.faults.ts';

/** An agent may be named by its id or by its handle wherever an id is accepted. */
export const AgentRef = AgentName;

const Text = z.string().nullable();
const RunStatus = z.enum(['queued', 'claimed', 'running', 'succeeded', 'failed', 'cancelled']).nullable();

/** `paused`: nothing is handed out, new runs wait. `draining`: what waits is handed out, new runs are refused. */
export const QueueState = z
  .object({
    scope: z.enum(['agent', 'account']),
    state: z.enum(['open', 'paused', 'draining']),
    since: z.string().nullable(),
    by: z.string().nullable(),
    reason: z.string().nullable(),
    queued: z.int(),
    active: z.int(),
    oldest_queued_at: z.string().nullable(),
  })
  .meta({ id: 'QueueState' });

const WorkerInstanceInfo = z
  .object({
    worker_id: z.string(),
    is_online: z.boolean(),
    busy: z.boolean(),
    generation: z.int().nullable(),
    version: Text,
    source_commit: Text,
    source_dirty: z.boolean().nullable(),
    sdk_version: Text,
    cluster_name: Text,
    namespace: Text,
    pod_name: Text,
    endpoint_url: Text,
    last_heartbeat_at: z.string(),
    channel_seen_at: Text,
    current_run_id: Text,
    current_run_status: RunStatus,
    current_run_started_at: Text,
  })
  .meta({ id: 'WorkerInstanceInfo' });

export const AgentInstanceResponse = z
  .object({
    agent_id: z.string(),
    id_slug: z.string(),
    status: z.enum(['online', 'offline', 'draft', 'deploying', 'deploy_failed']),
    name: z.string(),
    description: z.string(),
    version: z.string(),
    owner: z.string(),
    repo: z.string(),
    source_path: z.string(),
    source_commit: Text,
    source_dirty: z.boolean().nullable(),
    model: Text,
    labels: freeObject().meta({ type: 'object', additionalProperties: { type: 'string' } }), // a record would drop `__proto__`
    tools: z.array(z.string()),
    default_input: freeObject(),
    input_schema: freeObject(),
    capabilities: freeObject(),
    agent_card: freeObject(),
    is_enabled: z.boolean(),
    is_archived: z.boolean(),
    archived_at: Text,
    is_hosted: z.boolean(),
    hosted_agent_id: Text,
    hosted_customer: Text,
    deploy_status: Text,
    deploy_error: Text,
    draft_config: freeObject().nullable(),
    mcp_group_id: Text,
    mcp_group_name: Text,
    endpoint_url: Text,
    worker_id: Text,
    last_heartbeat_at: Text,
    instances: z.array(WorkerInstanceInfo),
    instances_total: z.int(),
    instances_busy: z.int(),
    instances_free: z.int(),
    runs_active: z.int(),
    runs_queued: z.int(),
    oldest_queued_run_at: Text,
    latest_run_at: Text,
    latest_run_status: RunStatus,
    latest_success_at: Text,
    // Ours beside the contract's.
    input_schema_error: Text,
    policy_version: z.int(),
    queue: QueueState,
    presence: z.object({ last_seen_at: Text, window_seconds: z.number(), offline_at: Text }),
  })
  .meta({ id: 'AgentInstanceResponse' });

/** A query holds text only. */
const Flag = z.preprocess((text) => (text === 'true' ? true : text === 'false' ? false : text), z.boolean());

export const listAgents = operation({
  id: 'agents.list',
  summary: 'Lists all agents, with their workers and how much they have to do.',
  http: { method: 'GET', path: '/api/v1/agents', status: 200 },
  capability: 'agent.read',
  input: { query: z.object({ include_archived: Flag.default(false) }) },
  output: longList(AgentInstanceResponse),
  faults: [],
});

export const getAgent = operation({
  id: 'agents.get',
  summary: 'Shows an agent, with its workers and how much it has to do.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}', status: 200 },
  capability: 'agent.read',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path: z.object({ agent_id: AgentRef }) },
  output: AgentInstanceResponse,
  faults: [AgentNotFound],
});
