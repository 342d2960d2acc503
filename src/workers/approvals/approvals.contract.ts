import { z } from 'zod';
import { WINDOW_SECONDS } from '../../gateway/index.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound } from '../../runs/index.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';

const Named = z.string().min(1).max(500);

export const requestApproval = operation({
  id: 'workers.request_approval',
  summary: 'Asks whether a tool call may be made, or how it stands with the same question.',
  frame: { type: 'action_approval_requested', reply: 'action_approval_opened' },
  capability: workerToken,
  audit: unaudited('the SDK asks again every twenty seconds; the register records each new question'),
  input: {
    path: WorkerPath,
    body: z.object({
      run_id: RunId,
      tool_use_id: Named,
      tool_name: Named,
      rule_id: Named,
      rule_name: z.string().max(500).nullish(),
      arguments: freeObject().nullish(),
      asked_by: z.string().max(500).nullish(),
      window_seconds: z.int().min(WINDOW_SECONDS.least).max(WINDOW_SECONDS.most).nullish(),
    }),
  },
  output: z.object({
    /** Empty where the question needs no answer, and so stands in no register. */
    approval_id: z.string(),
    state: z.enum(['pending', 'approved', 'denied', 'expired', 'withdrawn', 'not_governed', 'declined_act_off']),
    expires_at: z.string().optional(),
    reason: z.string().optional(),
  }),
  faults: [RunNotFound],
});
