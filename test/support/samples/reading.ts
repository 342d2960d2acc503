import { compareRuns } from '../../../src/evidence/compare/compare.contract.ts';
import { streamAccount } from '../../../src/evidence/live/live.contract.ts';
import { getCompleteness } from '../../../src/evidence/completeness/completeness.contract.ts';
import type { Agent, Tenant } from '../../contract/tenant.ts';
import { sample } from './sample.ts';

export const readingSamples = [
  sample(getCompleteness, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
  })),
  sample(compareRuns, async (tenant) => {
    const agent = await tenant.agent();
    return { path: { run_id: await endedRun(tenant, agent) }, query: { with: await endedRun(tenant, agent) } };
  }),
  sample(streamAccount, async () => ({ query: { topics: 'agents,workers,runs' } })),
];

async function endedRun(tenant: Tenant, agent: Agent): Promise<string> {
  const runId = await tenant.run(agent);
  await tenant.ask('POST', `/api/v1/runs/${runId}/cancel`);
  return runId;
}
