import { describe, expect, it } from '@jest/globals';
import { agentStatus, agentView, type Instance } from './agent-view.policy.ts';
import type { ListedAgent } from './registry.store.ts';

const SEEN = new Date('2026-03-01T12:00:00.000Z');

const AGENT: ListedAgent = {
  ...{
    id: 'agent_1',
    handle: 'echo',
    name: 'Echo',
    description: '',
    version: '1.0.0',
    owner: '',
    repo: '',
    source_path: '',
  },
  ...{
    source_commit: null,
    source_dirty: null,
    model: null,
    labels: {},
    tools: [],
    default_input: {},
    input_schema: {},
  },
  ...{
    input_schema_error: null,
    capabilities: {},
    agent_card: {},
    generation: 1,
    draft_config: null,
    is_enabled: true,
    archived_at: null,
  },
  ...{ policy_version: 0, queue_state: 'open', queue_since: null, queue_changed_by: null, queue_reason: null },
  ...{
    runs_active: 0,
    runs_queued: 0,
    oldest_queued_at: null,
    latest_run_at: null,
    latest_run_status: null,
    latest_success_at: null,
    instances: [],
  },
};

function instance(id: string, row: Partial<Instance>): Instance {
  return {
    ...{
      id,
      window_seconds: null,
      generation: 1,
      version: '1.0.0',
      source_commit: null,
      source_dirty: null,
      sdk_version: null,
    },
    ...{
      cluster_name: null,
      namespace: null,
      pod_name: null,
      endpoint_url: null,
      last_seen_at: SEEN,
      is_online: true,
      offline_at: new Date(SEEN.getTime() + 90_000),
      channel_seen_at: null,
    },
    ...{ channel_opened_at: null, channel_closed_at: null, channel_closed_by: null, unacked_since: null },
    ...{ silent_limit_seconds: null, hearing_since: SEEN, now: SEEN },
    ...{ is_busy: false, run_id: null, run_status: null, run_started_at: null },
    ...row,
  };
}

describe('an agent as the contract has it', () => {
  it.each([
    [0, false, 'draft'],
    [0, true, 'online'],
    [3, true, 'online'],
    [3, false, 'offline'],
  ])('K-5: generation %d, somebody online %s: %s', (generation, isAnyOnline, status) => {
    expect(agentStatus(generation, isAnyOnline)).toBe(status);
  });

  it('counts workers that are online: free is online and idle', () => {
    const instances = [
      instance('a', {}),
      instance('b', { is_busy: true }),
      instance('c', { is_online: false }),
      instance('d', {}),
    ];
    expect(agentView(AGENT, instances, 90)).toMatchObject({ instances_total: 3, instances_busy: 1, instances_free: 2 });
    expect(agentView(AGENT, instances, 90).instances).toHaveLength(4);
  });

  it('K-6: says when it was last heard, by its newest worker, and when that is too long ago', () => {
    const later = new Date(SEEN.getTime() + 5_000);
    expect(
      agentView(
        AGENT,
        [instance('a', {}), instance('b', { last_seen_at: later, offline_at: new Date(later.getTime() + 90_000) })],
        90,
      ),
    ).toMatchObject({
      worker_id: 'b',
      last_heartbeat_at: '2026-03-01T12:00:05.000Z',
      presence: {
        last_seen_at: '2026-03-01T12:00:05.000Z',
        window_seconds: 90,
        offline_at: '2026-03-01T12:01:35.000Z',
      },
    });
    expect(agentView(AGENT, [], 90)).toMatchObject({
      status: 'offline',
      last_heartbeat_at: null,
      presence: { last_seen_at: null, offline_at: null },
    });
  });

  it('shows a schema that is no object as none', () => {
    expect(
      agentView({ ...AGENT, input_schema: true, input_schema_error: 'The schema is not an object' }, [], 90),
    ).toMatchObject({
      input_schema: {},
      input_schema_error: 'The schema is not an object',
    });
  });
});
