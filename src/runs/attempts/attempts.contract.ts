import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId } from '../lifecycle/lifecycle.contract.ts';
import { RunNotFound } from '../lifecycle/lifecycle.faults.ts';

const Text = z.string().nullable();

/** One offer of a run, and what became of it. `end` is a code of `explain`; null while the attempt lasts. */
export const AttemptView = z
  .object({
    attempt: z.int(),
    worker_id: Text,
    path: z.enum(['claim', 'direct', 'self']),
    offered_at: z.string(),
    started_at: Text,
    ended_at: Text,
    end: Text,
    detail: freeObject(),
  })
  .meta({ id: 'AttemptView' });

export const listAttempts = operation({
  id: 'runs.list_attempts',
  summary: 'Lists each offer and start of a run: by whom, and how it ended.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/attempts', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: { path: z.object({ run_id: RunId }) },
  output: z.array(AttemptView),
  faults: [RunNotFound],
});
