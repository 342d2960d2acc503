import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound, RunStaleAttempt, RunSummary, RunTerminal } from '../../runs/index.ts';

/** The reports of workers that know no frames (worker-protocol.md §20), and of newer ones outside of a run (§2). */

const OWN_HISTORY = unaudited('the run’s own history says it; what the fence refuses is put on record by the service');
const RunPath = z.object({ run_id: RunId });
const WorkerId = z.string().min(1).max(200);

/** Described as the contract has it; what of it can be kept is kept, and no end is refused for its numbers. */
const Usage = freeObject()
  .nullish()
  .meta({ anyOf: [{ $ref: '#/components/schemas/RunUsage' }, { type: 'null' }] });

export const startRunByRest = operation({
  id: 'dispatch.report_start',
  summary: 'The worker begins the run that it claimed.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/start', status: 200 },
  transaction: 'none', // what is refused is put on record, so the service commits before it refuses
  capability: workerToken,
  audit: OWN_HISTORY,
  input: { path: RunPath, body: z.object({ worker_id: WorkerId }).meta({ id: 'StartRunRequest' }) },
  output: RunSummary,
  faults: [RunNotFound, RunStaleAttempt, RunTerminal],
});

export const completeRunByRest = operation({
  id: 'dispatch.report_complete',
  summary: 'The worker reports the run’s answer; the same report again gets the same answer.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/complete', status: 200 },
  transaction: 'none', // as above: what is too late is kept
  capability: workerToken,
  audit: OWN_HISTORY,
  evidence: true,
  bodyLimit: 'frame',
  input: {
    path: RunPath,
    body: z
      .object({
        worker_id: WorkerId,
        output: freeObject(),
        usage: Usage,
        snapshot: freeObject().nullish(),
      })
      .meta({ id: 'CompleteRunRequest' }),
  },
  output: RunSummary,
  faults: [RunNotFound, RunStaleAttempt, RunTerminal],
});

export const failRunByRest = operation({
  id: 'dispatch.report_fail',
  summary: 'The worker reports why the run failed; the same report again gets the same answer.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/fail', status: 200 },
  transaction: 'none', // as above
  capability: workerToken,
  audit: OWN_HISTORY,
  evidence: true,
  bodyLimit: 'frame',
  input: {
    path: RunPath,
    body: z
      .object({ worker_id: WorkerId, error: z.string(), snapshot: freeObject().nullish() })
      .meta({ id: 'FailRunRequest' }),
  },
  output: RunSummary,
  faults: [RunNotFound, RunStaleAttempt, RunTerminal],
});
