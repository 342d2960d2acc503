import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound } from '../../runs/index.ts';
import { RunEventView } from '../events/events.contract.ts';

/** What changed nothing any more. `event` is an event or message as it was sent, `report` the end that a worker reported. */
export const LateEvidence = z
  .object({
    at: z.string(),
    attempt: z.int().nullable(),
    worker_id: z.string(),
    kind: z.enum(['event', 'message', 'artifact', 'output', 'terminal']),
    why: z.enum(['stale_attempt', 'after_end', 'not_owner']),
    event: RunEventView.nullable(),
    report: freeObject().nullable(),
  })
  .meta({ id: 'LateEvidence' });

export const listLate = operation({
  id: 'runs.list_late',
  summary: 'Lists what came of a run from a stale attempt, from somebody else or after its end, the oldest first.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/late', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: {
    path: z.object({ run_id: RunId }),
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z.string().max(500).optional(),
    }),
  },
  output: z.array(LateEvidence),
  faults: [RunNotFound],
});
