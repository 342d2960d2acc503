import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound } from '../../runs/index.ts';

const Gap = z.object({ attempt: z.int(), stream: z.string(), from: z.int(), to: z.int() });

/**
 * What is missing from the record. `received` = `stored` + `duplicate` + `refused`; late events are stored ones, too, and
 * `late` is the length of the list of late evidence. `complete`: the run has ended, and nothing is known to be missing.
 */
const Completeness = z
  .object({
    run_id: z.string(),
    complete: z.boolean(),
    received: z.int(),
    stored: z.int(),
    duplicate: z.int(),
    refused: z.int(),
    refused_codes: freeObject().meta({ additionalProperties: { type: 'integer' } }),
    truncated: z.int(),
    altered: z.int(),
    late: z.int(),
    masked: z.int(),
    gaps: z.array(Gap),
    lost_batches: z.int(),
    orphan_spans: z.int(),
    open_spans: z.int(),
    clock_skew_ms: z.object({ min: z.int(), max: z.int() }).nullable(),
    first_at: z.string().nullable(),
    last_at: z.string().nullable(),
    sealed: z.object({ root: z.string(), checkpoint: z.int() }).nullable(),
  })
  .meta({ id: 'Completeness' });

export const getCompleteness = operation({
  id: 'runs.get_completeness',
  summary: 'Says what of a run’s record is missing, was left out, or was changed.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/completeness', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: { path: z.object({ run_id: RunId }) },
  output: Completeness,
  faults: [RunNotFound],
});
