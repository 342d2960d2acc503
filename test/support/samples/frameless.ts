import { pollRun } from '../../../src/dispatch/claims/claims.contract.ts';
import { completeRunByRest, failRunByRest, startRunByRest } from '../../../src/dispatch/reports/rest.contract.ts';
import { sample } from './sample.ts';

/** What workers do that know no frames. */
export const frameless = [
  sample(pollRun, async (tenant) => {
    const agent = await tenant.agent();
    await tenant.run(agent);
    return { path: { worker_id: agent.workerId }, body: { agent_id: agent.handle }, token: agent.token };
  }),
  sample(startRunByRest, async (tenant) => {
    const agent = await tenant.agent();
    const path = { run_id: await tenant.claimedRun(agent) };
    return { path, body: { worker_id: agent.workerId }, token: agent.token };
  }),
  sample(completeRunByRest, async (tenant) => {
    const agent = await tenant.agent();
    const path = { run_id: await tenant.startedRun(agent) };
    const body = { worker_id: agent.workerId, output: { text: 'done' }, usage: { input_tokens: 3, output_tokens: 4 } };
    return { path, body, token: agent.token };
  }),
  sample(failRunByRest, async (tenant) => {
    const agent = await tenant.agent();
    const path = { run_id: await tenant.startedRun(agent) };
    return { path, body: { worker_id: agent.workerId, error: 'ValueError: no' }, token: agent.token };
  }),
];
