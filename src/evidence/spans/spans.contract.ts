import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { RunId, RunNotFound, RunUsage } from '../../runs/index.ts';
import { RunEventView } from '../events/events.contract.ts';

export const SpanNotFound = fault('span.not_found', 'not_found', 'The run has no such span');

const Text = z.string().nullable();
const skeleton = {
  span_id: z.string(),
  parent_span_id: Text,
  seq: z.int(),
  changed_seq: z.int(),
  attempt: z.int(),
  kind: z.string(),
  name: z.string(),
  status: z.enum(['ok', 'error']).nullable(),
  started_at: Text,
  ended_at: Text,
  duration_ms: z.number().nullable(),
  child_run_id: Text,
  total_tokens: z.int().nullable(),
  cost_amount: z.number().nullable(),
  bytes: z.int(),
  orphan: z.boolean(),
  clock_skewed: z.boolean(),
};

/** A span without its contents: what a timeline is drawn from. */
export const SpanSkeleton = z.object(skeleton).meta({ id: 'SpanSkeleton' });

const SpanDetail = z
  .object({
    ...skeleton,
    trace_id: Text,
    input: z.unknown(),
    output: z.unknown(),
    attributes: freeObject(),
    usage: RunUsage.nullable(),
    events: z.array(RunEventView),
    truncated: z.array(z.object({ path: z.string(), artifact_id: z.string(), bytes: z.int() })),
    masked: freeObject(),
    replay: freeObject().nullable(),
    /** The account keeps no content: input and output are not known. */
    content_withheld: z.boolean().optional(),
  })
  .meta({ id: 'SpanDetail' });

export const listSpans = operation({
  id: 'runs.list_spans',
  summary: 'Lists a run’s spans in the order in which they were first seen, without their contents.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/spans', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  packed: true,
  input: {
    path: z.object({ run_id: RunId }),
    query: z.object({
      changed_after: z.coerce.number().int().min(0).optional(),
      kind: z.string().max(200).optional(),
      status: z.enum(['ok', 'error']).optional(),
      limit: z.coerce.number().int().min(1).max(5_000).default(1_000),
      cursor: z
        .string()
        .regex(/^\d{1,16}$/, 'is not a cursor of this list')
        .optional(),
    }),
  },
  output: z.array(SpanSkeleton),
  faults: [RunNotFound],
});

export const getSpan = operation({
  id: 'runs.get_span',
  summary: 'Shows a span of a run whole.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/spans/{span_id}', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  ours: true,
  input: { path: z.object({ run_id: RunId, span_id: z.string().min(1).max(1_000) }) },
  output: SpanDetail,
  faults: [RunNotFound, SpanNotFound],
});
