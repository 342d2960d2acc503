import { pollRun } from '../../../src/dispatch/claims/claims.contract.ts';
import {
  completeRunByRest,
  failRunByRest,
  startDirect,
  startRunByRest,
} from '../../../src/dispatch/reports/rest.contract.ts';
import { flushEvents } from '../../../src/evidence/events/flush.contract.ts';
import { newToken } from '../../contract/exchange.ts';
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
  sample(startDirect, async (tenant) => {
    const agent = await tenant.agent();
    const body = {
      run_id: `cc_${newToken()}`,
      agent_id: agent.handle,
      worker_id: `wrk_cc_${newToken()}`,
      event_id: null,
      input: { session_id: 's', source: 'startup' },
      metadata: {},
      usage: null,
      channel: null,
    };
    return { body, token: agent.token };
  }),
  sample(flushEvents, async (tenant) => {
    const agent = await tenant.agent();
    const run = { run_id: await tenant.startedRun(agent) };
    const events = [
      { ...run, event_type: 'log.created', content: 'half way', level: 'INFO' },
      { run_id: 'unknown', event_type: 'log.created', content: 'of the process' },
    ];
    const params = { worker_id: agent.workerId, events };
    return { body: { jsonrpc: '2.0', id: 'flush_1', method: 'hooks/events', params }, token: agent.token };
  }),
];
