import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import { isJsonObject } from '../../platform/json/json.ts';
import { queueView } from '../queue/queue-view.policy.ts';
import type { AgentInstanceResponse } from './registry.contract.ts';
import type { InstanceRow, ListedAgent } from './registry.store.ts';

type AgentView = z.input<typeof AgentInstanceResponse>;
type InstanceView = AgentView['instances'][number];

/** A worker, and whether it is there by the one rule that says so. */
export interface Instance extends InstanceRow {
  readonly is_online: boolean;
  readonly offline_at: Date;
}

/** What has a manifest has shown a sign of life. Nobody flips a flag: who is silent for a window is offline. */
export function agentStatus(generation: number, isAnyOnline: boolean): AgentView['status'] {
  if (isAnyOnline) return 'online';
  return generation === 0 ? 'draft' : 'offline';
}

/** An agent as the contract has it. */
export function agentView(agent: ListedAgent, instances: readonly Instance[], windowSeconds: number): AgentView {
  const online = instances.filter((instance) => instance.is_online);
  const busy = online.filter((instance) => instance.is_busy).length;
  const newest = instances.reduce<Instance | undefined>(laterSeen, undefined);
  const { runs_active, runs_queued, latest_run_status } = agent;
  return {
    ...described(agent),
    status: agentStatus(agent.generation, online.length > 0),
    ...NOT_HOSTED,
    endpoint_url: newest?.endpoint_url ?? null,
    worker_id: newest?.id ?? null,
    last_heartbeat_at: timeOrNull(newest?.last_seen_at),
    instances: instances.map(instanceView),
    instances_total: online.length,
    instances_busy: busy,
    instances_free: online.length - busy,
    runs_active,
    runs_queued,
    oldest_queued_run_at: timeOrNull(agent.oldest_queued_at),
    latest_run_at: timeOrNull(agent.latest_run_at),
    latest_run_status,
    latest_success_at: timeOrNull(agent.latest_success_at),
    policy_version: agent.policy_version,
    queue: queueOf(agent),
    presence: presenceOf(newest, windowSeconds),
  };
}

function described(agent: ListedAgent) {
  const { name, description, version, owner, repo, source_path, source_commit, source_dirty, model, labels, tools } =
    agent;
  const { default_input, input_schema, input_schema_error, capabilities, agent_card, is_enabled, archived_at } = agent;
  return {
    agent_id: agent.id,
    id_slug: agent.handle,
    ...{ name, description, version, owner, repo, source_path, source_commit, source_dirty, model, labels, tools },
    ...{ default_input, input_schema_error, capabilities, agent_card, is_enabled },
    input_schema: isJsonObject(input_schema) ? input_schema : {}, // `true` is a schema too, but none the contract can show
    is_archived: archived_at !== null,
    archived_at: timeOrNull(archived_at),
    draft_config: agent.draft_config,
  };
}

const NOT_HOSTED = {
  is_hosted: false,
  hosted_agent_id: null,
  hosted_customer: null,
  deploy_status: null,
  deploy_error: null,
  mcp_group_id: null,
  mcp_group_name: null,
};

function queueOf(agent: ListedAgent): AgentView['queue'] {
  const { queue_state: state, queue_since: since, queue_changed_by: changed_by, queue_reason: reason } = agent;
  const { runs_queued: queued, runs_active: active, oldest_queued_at } = agent;
  return queueView({ state, since, changed_by, reason }, { queued, active, oldest_queued_at });
}

function instanceView(row: Instance): InstanceView {
  const { generation, version, source_commit, source_dirty, sdk_version, cluster_name, namespace, pod_name } = row;
  return {
    worker_id: row.id,
    is_online: row.is_online,
    busy: row.is_busy,
    ...{ generation, version, source_commit, sdk_version, cluster_name, namespace, pod_name },
    source_dirty: source_dirty === null ? null : source_dirty === 'true',
    endpoint_url: row.endpoint_url,
    last_heartbeat_at: wireTime(row.last_seen_at),
    channel_seen_at: timeOrNull(row.channel_seen_at),
    current_run_id: row.run_id,
    current_run_status: row.run_status,
    current_run_started_at: timeOrNull(row.run_started_at),
  };
}

function presenceOf(newest: Instance | undefined, windowSeconds: number): AgentView['presence'] {
  return {
    last_seen_at: timeOrNull(newest?.last_seen_at),
    window_seconds: newest?.window_seconds ?? windowSeconds,
    offline_at: timeOrNull(newest?.offline_at),
  };
}

function laterSeen(a: Instance | undefined, b: Instance): Instance {
  return a && a.last_seen_at > b.last_seen_at ? a : b;
}

function timeOrNull(at: Date | null | undefined): string | null {
  return at ? wireTime(at) : null;
}
