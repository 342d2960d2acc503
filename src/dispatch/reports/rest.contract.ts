import { z } from 'zod';
import { AgentArchived, AgentNotFound } from '../../agents/index.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import {
  CallersRunId,
  RunId,
  RunNotFound,
  RunStaleAttempt,
  RunSummary,
  RunTerminal,
  runRequest,
} from '../../runs/index.ts';
import { WorkerIdTaken } from '../../workers/index.ts';

/** The reports of workers that know no frames (worker-protocol.md §20), and of newer ones outside of a run (§2). */

const OWN_HISTORY = unaudited('the run’s own history says it; what the fence refuses is put on record by the service');
const RunPath = z.object({ run_id: RunId });
const WorkerId = z.string().min(1).max(200);

/** Described as the contract has it; what of it can be kept is kept, and no end is refused for its numbers. */
const Usage = freeObject()
  .nullish()
  .meta({ anyOf: [{ $ref: '#/components/schemas/RunUsage' }, { type: 'null' }] });

/** What may come with the end of a run, whatever it is. */
const aside = { snapshot: freeObject().nullish(), diagnostics: freeObject().nullish() };

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
        ...aside,
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
      .object({
        worker_id: WorkerId,
        error: z.string(),
        ...aside,
      })
      .meta({ id: 'FailRunRequest' }),
  },
  output: RunSummary,
  faults: [RunNotFound, RunStaleAttempt, RunTerminal],
});

export const startDirect = operation({
  id: 'dispatch.start_direct',
  summary:
    'The worker says that it works on a run that it began by itself, under an id of its own; said again, it is the same run.',
  http: { method: 'POST', path: '/api/v1/runs/start-direct', status: 200 },
  capability: workerToken,
  audit: { action: 'run.trigger', target: ({ run_id }) => ['run', run_id] },
  bodyLimit: 'run',
  input: {
    body: z
      .object({
        run_id: CallersRunId,
        /** Read and not heeded: the token decides. */
        agent_id: z.string(),
        worker_id: WorkerId,
        event_id: z.string().min(1).max(200).nullish(),
        input: runRequest.input,
        metadata: runRequest.metadata,
        usage: runRequest.usage,
        channel: runRequest.channel,
      })
      .meta({ id: 'StartRunDirectRequest' }),
  },
  output: RunSummary,
  faults: [RunNotFound, RunStaleAttempt, AgentNotFound, AgentArchived, WorkerIdTaken],
});
