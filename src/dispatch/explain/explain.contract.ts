import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound, RunStatusName } from '../../runs/index.ts';
import { LightsView } from '../../workers/index.ts';
import { CHANGES, REASON_CODES } from './reasons.policy.ts';

const Reason = z
  .object({
    code: z.enum(REASON_CODES),
    since: z.string(),
    until_changed_by: z.array(
      z.object({ kind: z.enum(CHANGES), what: z.string().nullable(), at: z.string().nullable() }),
    ),
    detail: freeObject(),
    message: z.string(),
  })
  .meta({ id: 'Reason' });

/** A worker of the run's agent. Eligible with a reason: it is given the run all the same, only later. */
const Candidate = z.object({
  worker_id: z.string(),
  eligible: z.boolean(),
  reason: Reason.nullable(),
  lights: LightsView,
});

export const RunExplanation = z
  .object({
    run_id: z.string(),
    status: RunStatusName,
    as_of: z.string(),
    reason: Reason,
    also: z.array(Reason),
    candidates: z.array(Candidate),
    candidates_total: z.int(),
    history: z.array(
      z.object({
        at: z.string(),
        code: z.string(),
        worker_id: z.string().nullable(),
        attempt: z.int().nullable(),
      }),
    ),
    transport: z.string(),
  })
  .meta({ id: 'RunExplanation' });

export const explainRun = operation({
  id: 'runs.explain',
  summary: 'Says why a run waits, and for each worker the rule that keeps it from it; or why it ended as it did.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/explain', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: { path: z.object({ run_id: RunId }) },
  output: RunExplanation,
  faults: [RunNotFound],
});
