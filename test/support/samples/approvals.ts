import { decideApproval, getApproval, listApprovals } from '../../../src/gateway/approvals/approvals.contract.ts';
import { requestApproval } from '../../../src/workers/approvals/approvals.contract.ts';
import type { Tenant } from '../../contract/tenant.ts';
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

export const approvalSamples = [
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
