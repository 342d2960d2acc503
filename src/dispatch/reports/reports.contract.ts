import { z } from 'zod';
import { AgentArchived } from '../../agents/index.ts';
import { anyJson, freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { AttemptNumber, CallersRunId, RunNotFound, RunStatusName } from '../../runs/index.ts';
import { WorkerNotRegistered, WorkerPath } from '../claims/claims.contract.ts';

const OWN_HISTORY = unaudited('the run’s own history says it; what the fence refuses is put on record by the service');

const RunState = z.object({
  run_id: z.string(),
  accepted: z.boolean(),
  status: RunStatusName,
  worker_id: z.string().optional(),
});

/** A report names its run; a worker of ours also its attempt. */
const reported = { run_id: z.string().min(1).max(200), attempt: AttemptNumber.optional() };
/** What may come with the end of a run, whatever it is. */
const aside = { snapshot: anyJson().optional(), diagnostics: anyJson().optional() };

export const startRun = operation({
  id: 'dispatch.start',
  summary: 'The worker begins the run that it claimed.',
  frame: { type: 'run_started', reply: 'run_state' },
  capability: workerToken,
  audit: OWN_HISTORY,
  input: { path: WorkerPath, body: z.object(reported) },
  output: RunState,
  faults: [RunNotFound],
});

export const triggerRun = operation({
  id: 'dispatch.trigger',
  summary: 'The worker says that it works on a run that it began by itself.',
  frame: { type: 'trigger_agent', reply: 'run_state' },
  capability: workerToken,
  audit: { action: 'run.trigger', target: ({ run_id }) => ['run', run_id] },
  input: {
    path: WorkerPath,
    body: z.object({
      run_id: CallersRunId,
      input: freeObject().nullish(),
      metadata: freeObject().nullish(),
      event_id: z.string().min(1).max(200).nullish(),
    }),
  },
  output: RunState,
  faults: [RunNotFound, AgentArchived, WorkerNotRegistered],
});

// What a worker reports is evidence: it is altered where it cannot be stored, never refused for what it contains.

export const completeRun = operation({
  id: 'dispatch.complete',
  summary: 'The worker reports the run’s answer.',
  frame: { type: 'run_completed', reply: 'run_state' },
  capability: workerToken,
  audit: OWN_HISTORY,
  evidence: true,
  input: {
    path: WorkerPath,
    body: z.object({
      ...reported,
      output: anyJson(),
      usage: anyJson().optional(),
      ...aside,
    }),
  },
  output: RunState,
  faults: [RunNotFound],
});

export const failRun = operation({
  id: 'dispatch.fail',
  summary: 'The worker reports why the run failed.',
  frame: { type: 'run_failed', reply: 'run_state' },
  capability: workerToken,
  audit: OWN_HISTORY,
  evidence: true,
  input: {
    path: WorkerPath,
    body: z.object({
      ...reported,
      error: z.string(),
      ...aside,
    }),
  },
  output: RunState,
  faults: [RunNotFound],
});
