import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { AgentArchived, AgentDraining, AgentNotFound } from '../../agents/index.ts';
import { IdempotencyConflict } from '../../platform/faults/faults.ts';
import { anyJson, freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { AccountQueueFull, AgentQueueFull, ReplayClock, RunId, RunNotFound, RunSummary } from '../../runs/index.ts';
import { RunNotReplayable } from './replay.faults.ts';

const RecordedCall = z
  .object({
    index: z.int(),
    span_id: z.string(),
    tool_name: z.string(),
    tool_input: anyJson(),
    tool_response: anyJson(),
    is_error: z.boolean(),
    masked: z.boolean(),
    /** What was too large for its event is shown as its beginning; a replay is answered with the whole. */
    truncated: z.array(z.object({ path: z.string(), artifact_id: z.string(), bytes: z.int() })),
  })
  .meta({ id: 'RecordedCall' });

const path = z.object({ run_id: RunId });

export const getRecording = operation({
  id: 'evidence.recording',
  summary: 'Shows the tool calls of a run that a replay of it is answered from.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/recording', status: 200 },
  capability: 'run.read',
  ours: true,
  scope: ({ run_id }) => ({ run: run_id }),
  audit: { action: 'run.recording', target: ({ run_id }) => ['run', run_id] },
  input: {
    path,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z
        .string()
        .regex(/^\d{1,15}$/)
        .optional(),
    }),
  },
  output: z.array(RecordedCall),
  faults: [RunNotFound],
});

export const replayRun = operation({
  id: 'evidence.replay',
  summary: 'Queues a run that does the same again, its tools answered from what a finished run has recorded.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/replay', status: 200 },
  capability: 'agent.invoke',
  ours: true,
  scope: ({ run_id }) => ({ run: run_id }),
  audit: { action: 'run.replay', target: ({ run_id }) => ['run', run_id] },
  idempotent: true,
  bodyLimit: 'run',
  input: {
    path,
    body: z
      .object({
        mode: z.enum(['strict', 'fall_through']).default('strict'),
        input: freeObject().nullish(),
        agent_id: AgentName.nullish(),
        clock: ReplayClock.nullish(),
      })
      .meta({ id: 'ReplayRequest' })
      .nullish(),
  },
  output: RunSummary,
  faults: [
    RunNotFound,
    RunNotReplayable,
    AgentNotFound,
    AgentArchived,
    AgentDraining,
    AgentQueueFull,
    AccountQueueFull,
    IdempotencyConflict,
  ],
});

export const requestReplay = operation({
  id: 'evidence.replay_answer',
  summary: 'Asks what a tool answered in a recorded run.',
  frame: { type: 'replay_answer_request', reply: 'replay_answer' },
  capability: workerToken,
  audit: unaudited('the agent’s own record, handed back to it; the order to replay is on record'),
  input: {
    path: z.object({ worker_id: z.string().min(1).max(200) }),
    body: z.object({
      golden_run_id: RunId,
      run_id: RunId,
      tool_name: z.string().min(1).max(500),
      tool_input: anyJson().optional(),
    }),
  },
  output: z.object({
    source: z.enum(['recording', 'no_data']),
    tool_response: anyJson().optional(),
    /** Which of the recorded calls answered. */
    matched_seq: z.int().optional(),
    match: z.literal('exact').optional(),
  }),
  faults: [],
});
