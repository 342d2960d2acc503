import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import {
  AttemptNumber,
  RunId,
  RunMessageResponse,
  RunNotFound,
  RunStaleAttempt,
  RunTerminal,
} from '../../runs/index.ts';
import { WorkerPath } from '../../workers/index.ts';
import { TooManyEvents } from './events.faults.ts';

const RunPath = z.object({ run_id: RunId });
const WorkerId = z.string().min(1).max(200);
const OWN_RECORD = unaudited('evidence is itself the record');

const text = { type: 'string' };
const textOrNull = { type: ['string', 'null'] };
const free = { type: 'object', additionalProperties: true };

/** The fields of an event that have a meaning; any other is kept beside them. Types, kinds and levels are open. */
const EVENT_FIELDS = {
  event_type: text,
  event_id: textOrNull,
  event_sequence: { type: ['integer', 'null'] },
  timestamp: textOrNull,
  level: { ...text, default: 'INFO' },
  logger: { ...text, default: 'agentops' },
  content: textOrNull,
  role: { ...text, default: 'assistant' },
  message_type: { ...text, default: 'progress' },
  name: textOrNull,
  status: textOrNull,
  kind: textOrNull,
  trace_id: textOrNull,
  span_id: textOrNull,
  parent_span_id: textOrNull,
  hook_event_type: textOrNull,
  payload: free,
  usage: { anyOf: [{ $ref: '#/components/schemas/RunUsage' }, { type: 'null' }] },
};
const truncation = {
  type: 'object',
  required: ['path', 'artifact_id', 'bytes'],
  properties: { path: text, artifact_id: text, bytes: { type: 'integer' } },
};
const VIEW_FIELDS = {
  seq: { type: 'integer' },
  received_at: text,
  attempt: { type: 'integer' },
  stream_seq: { type: ['integer', 'null'] },
  altered: { type: 'array', items: text },
  truncated: { type: 'array', items: truncation },
  late: { type: 'boolean' },
};

/** Described only: a batch is never refused for one of its events, so each of them is checked by hand. */
const RunEventIn = z
  .unknown()
  .meta({ id: 'RunEventIn', type: 'object', required: ['event_type'], properties: EVENT_FIELDS });

/** An event as it was stored, with its number and what became of it. */
export const RunEventView = freeObject().meta({
  id: 'RunEventView',
  required: ['event_type', ...Object.keys(VIEW_FIELDS)],
  properties: { ...EVENT_FIELDS, ...VIEW_FIELDS },
});

export const takeEvents = operation({
  id: 'evidence.take',
  summary: 'Takes a batch of a run’s events: what cannot be an event is left out, everything else is kept.',
  frame: { type: 'run_events' },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  input: {
    path: WorkerPath,
    body: z.object({ events: z.array(z.unknown()).min(1), attempt: AttemptNumber.nullish() }),
  },
  output: empty,
  faults: [RunNotFound],
});

export const ingestEvents = operation({
  id: 'evidence.ingest',
  summary: 'Takes a batch of a run’s events and says what became of it.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/events', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  bodyLimit: 'frame',
  input: {
    path: RunPath,
    body: z
      .object({ worker_id: WorkerId, events: z.array(RunEventIn).optional() })
      .meta({ id: 'IngestRunEventsRequest' }),
  },
  output: z
    .object({
      events: z.int(),
      log_events: z.int().default(0),
      messages: z.int().default(0),
      output_updates: z.int().default(0),
      trace_events: z.int().default(0),
      duplicate: z.int(),
      altered: z.int(),
      refused: z.array(z.object({ index: z.int(), code: z.string() })),
    })
    .meta({ id: 'IngestRunEventsResponse' }),
  faults: [RunNotFound, TooManyEvents],
});

export const addMessage = operation({
  id: 'runs.add_message',
  summary: 'Adds a message to a run that the worker holds.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/messages', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: OWN_RECORD,
  evidence: true,
  bulk: true,
  input: {
    path: RunPath,
    body: z
      .object({
        worker_id: WorkerId,
        content: z.string(),
        role: z.enum(['assistant', 'tool', 'system', 'user']).default('assistant'),
        message_type: z.enum(['progress', 'tool_call', 'data', 'draft', 'finalizing']).default('progress'),
        payload: freeObject().optional(),
        event_id: z.string().nullish(),
        event_sequence: z.int().nullish(),
      })
      .meta({ id: 'AddRunMessageRequest' }),
  },
  output: RunMessageResponse,
  faults: [RunNotFound, RunTerminal, RunStaleAttempt],
});

export const listEvents = operation({
  id: 'runs.list_events',
  summary: 'Lists a run’s events in the order of its sequence.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/events', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: {
    path: RunPath,
    query: z.object({
      after: z.coerce.number().int().min(0).default(0),
      type: z.array(z.string().max(200)).max(50).optional(),
      level: z.string().max(200).optional(),
      span_id: z.string().max(1_000).optional(),
      q: z.string().max(200).optional(),
      limit: z.coerce.number().int().min(1).max(1_000).default(100),
      cursor: z
        .string()
        .regex(/^\d{1,16}$/, 'is not a cursor of this list')
        .optional(),
    }),
  },
  output: z.array(RunEventView),
  faults: [RunNotFound],
});
