import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { anyJson } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { ContentWithheld, RunId, RunNotFound, RunUsage } from '../../runs/index.ts';
import { SpanSkeleton } from '../spans/spans.contract.ts';

export const RunNotFinished = fault('run.not_finished', 'conflict', 'The run has not ended yet');

/**
 * Two runs beside each other: their tool and model spans by order and name. Ids, times and usage are no difference. The
 * first thousand steps are listed and compared; runs with unlike numbers of steps are never the same.
 */
const RunComparison = z
  .object({
    left: z.string(),
    right: z.string(),
    same: z.boolean(),
    diverges_at: z.object({ index: z.int(), path: z.string(), left: anyJson(), right: anyJson() }).nullable(),
    steps: z.array(
      z.object({
        index: z.int(),
        left: SpanSkeleton.nullable(),
        right: SpanSkeleton.nullable(),
        same: z.boolean(),
      }),
    ),
    output_diff: z.array(z.object({ path: z.string(), before: anyJson(), after: anyJson() })),
    usage: z.object({ left: RunUsage, right: RunUsage }),
  })
  .meta({ id: 'RunComparison' });

export const compareRuns = operation({
  id: 'runs.compare',
  summary: 'Compares two runs that have ended, step by step, to where they first differ.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/compare', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  packed: true,
  input: { path: z.object({ run_id: RunId }), query: z.object({ with: RunId }) },
  output: RunComparison,
  faults: [RunNotFound, RunNotFinished, ContentWithheld],
});
