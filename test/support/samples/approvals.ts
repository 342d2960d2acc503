import {
  getWorkerConfig,
  listWorkerConfigs,
  putWorkerConfig,
} from '../../../src/agents/worker-config/worker-config.contract.ts';
import { getRecording, replayRun, requestReplay } from '../../../src/evidence/replay/replay.contract.ts';
import { decideApproval, getApproval, listApprovals } from '../../../src/gateway/approvals/approvals.contract.ts';
import { requestApproval } from '../../../src/workers/approvals/approvals.contract.ts';
import { acknowledgeConfig, requestConfig } from '../../../src/workers/config/config.contract.ts';
import type { Agent, Tenant } from '../../contract/tenant.ts';
import { sample } from './sample.ts';

const question = (runId: string) => ({
  run_id: runId,
  tool_use_id: 'toolu_1',
  tool_name: 'Bash',
  rule_id: 'rule_1',
  rule_name: 'Shell',
  arguments: { command: 'ls' },
  window_seconds: 600,
});

/** A question that nobody has decided. */
async function asked(tenant: Tenant): Promise<string> {
  const agent = await tenant.agent();
  const { approval_id: id } = await tenant.frame(
    agent,
    'action_approval_requested',
    question(await tenant.startedRun(agent)),
  );
  tenant.names.add(id);
  return id;
}

const fromWorker =
  <Body>(body: Body) =>
  async (tenant: Tenant) => {
    const { workerId, token } = await tenant.agent();
    return { path: { worker_id: workerId }, body, token };
  };

const configBody = {
  ops: [
    { type: 'prompt_append' as const, text: 'Be brief.' },
    {
      type: 'mcp_server_set' as const,
      name: 'tickets',
      server: { url: 'https://mcp.test', headers: { 'X-Key': '${KEY}' } },
    },
    {
      type: 'skill_set' as const,
      skill_id: 'greet',
      text: 'Say hello.',
      resources: [{ path: 'a.md', content: 'hello' }],
    },
  ],
  action_rules: {
    rules: [{ id: 'r1', name: 'Shell', outcome: 'ask' as const, criteria: [{ tool_patterns: ['Bash'] }] }],
    window_seconds: 600,
  },
  note: 'the first one',
  base_version: '',
  base_revision: 0,
};

/** An agent whose workers are configured with something. */
async function configured(tenant: Tenant): Promise<string> {
  const { id } = await tenant.agent();
  await tenant.ask('PUT', `/api/v1/agents/${id}/worker-config`, configBody);
  return id;
}

/** A finished run with a tool call on record. */
async function recorded(tenant: Tenant, agent: Agent): Promise<string> {
  const { runId } = await tenant.recordedRun(agent);
  await tenant.frame(agent, 'run_completed', { run_id: runId, output: {} });
  return runId;
}

export const approvalSamples = [
  sample(getRecording, async (tenant) => ({
    path: { run_id: await recorded(tenant, await tenant.agent()) },
    query: { limit: 10 },
  })),
  sample(replayRun, async (tenant) => ({
    path: { run_id: await recorded(tenant, await tenant.agent()) },
    body: { mode: 'strict' as const, clock: '2026-11-29T20:08:34Z' },
  })),
  sample(requestReplay, async (tenant) => {
    const agent = await tenant.agent();
    const runId = await tenant.startedRun(agent);
    const body = { golden_run_id: 'run_none', run_id: runId, tool_name: 'lookup', tool_input: { q: 'life' } };
    return { path: { worker_id: agent.workerId }, body, token: agent.token };
  }),
  sample(getWorkerConfig, async (tenant) => ({ path: { agent_id: await configured(tenant) } })),
  sample(putWorkerConfig, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).id },
    query: { dry_run: 'false' as const },
    body: configBody,
  })),
  sample(listWorkerConfigs, async (tenant) => ({ path: { agent_id: await configured(tenant) }, query: { limit: 10 } })),
  sample(requestConfig, fromWorker({})),
  sample(acknowledgeConfig, fromWorker({ version: '', unsupported_ops: [] })),
  sample(requestApproval, async (tenant) => {
    const agent = await tenant.agent();
    const body = question(await tenant.startedRun(agent));
    return { path: { worker_id: agent.workerId }, body, token: agent.token, leavesRow: true };
  }),
  sample(listApprovals, async () => ({ query: { state: 'pending', limit: 50 } })),
  sample(getApproval, async (tenant) => ({ path: { approval_id: await asked(tenant) } })),
  sample(decideApproval, async (tenant) => ({
    path: { approval_id: await asked(tenant) },
    body: { state: 'approved' as const, comment: 'go ahead' },
  })),
];
