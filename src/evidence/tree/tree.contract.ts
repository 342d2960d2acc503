import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound, RunSummary } from '../../runs/index.ts';

/** A run with those that it began. `relation` says what it is to the one above it. */
const RunTree = z
  .object({
    run: RunSummary,
    relation: z.enum(['root', 'delegation', 'workflow_step', 'replay', 'revival']),
    get children() {
      return z.array(RunTree);
    },
    /** There are more below it than are shown. */
    truncated: z.boolean(),
  })
  .meta({ id: 'RunTree' });

export const getTree = operation({
  id: 'runs.get_tree',
  summary: 'Shows a run among those that began it and those that it began, from the first of them down.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/tree', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: {
    path: z.object({ run_id: RunId }),
    query: z.object({ depth: z.coerce.number().int().min(1).max(10).default(5) }),
  },
  output: RunTree,
  faults: [RunNotFound],
});
