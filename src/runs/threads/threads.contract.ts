import { z } from 'zod';
import { AgentArchived, AgentDraining, AgentNotFound } from '../../agents/index.ts';
import { freeObject } from '../../platform/json/json.ts';
import { IdempotencyConflict } from '../../platform/faults/faults.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunPath, RunSummary } from '../lifecycle/lifecycle.contract.ts';
import { AccountQueueFull, AgentQueueFull, RunNotFound, RunNotRevivable } from '../lifecycle/lifecycle.faults.ts';

export const reviveRun = operation({
  id: 'runs.revive',
  summary:
    'Queues a run that goes on with the session of one that has ended; without an input, with the same input again.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/revive', status: 200 },
  capability: 'agent.invoke',
  scope: ({ run_id }) => ({ run: run_id }),
  audit: { action: 'run.revive', target: ({ run_id }) => ['run', run_id] },
  idempotent: true,
  bodyLimit: 'run',
  input: {
    path: RunPath,
    body: z.object({ input: freeObject().nullish() }).meta({ id: 'ReviveRunRequest' }).nullish(),
  },
  output: RunSummary,
  faults: [
    RunNotFound,
    RunNotRevivable,
    AgentNotFound,
    AgentArchived,
    AgentDraining,
    AgentQueueFull,
    AccountQueueFull,
    IdempotencyConflict,
  ],
});
