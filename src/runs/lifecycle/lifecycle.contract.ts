import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { AgentArchived, AgentDraining, AgentNotFound } from '../../agents/index.ts';
import { freeObject, isJsonObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { IdempotencyConflict } from '../../platform/faults/faults.ts';
import { AccountQueueFull, AgentQueueFull, ListTooSlow, RunNotFound } from './lifecycle.faults.ts';
import { LABEL_LIMITS, labelProblems } from './labels.policy.ts';
import { HOOK_EVENTS, SPAN_KINDS } from '../records/records.policy.ts';
import { RUN_STATUSES } from './lifecycle.states.ts';

/** Any text: callers may choose ids, and nothing may validate an id by its looks. */
export const RunId = z.string().min(1).max(200);
/** One that a caller makes up: it is put into paths and lines, and must come back out of both as it was. */
export const CallersRunId = RunId.regex(
  /^(?!\.{1,2}$)[^\p{Cc}\p{Zl}\p{Zp}/]+$/u,
  'must not hold "/" or control characters, nor be "." or ".."',
);
/** Which claim of a run somebody speaks for: the column holds no other. */
export const AttemptNumber = z.int().min(1).max(2_147_483_647);
export const RunStatusName = z.enum(RUN_STATUSES).meta({ id: 'RunStatus' });
export const RunChannel = z.enum(['ui', 'slack', 'cron', 'webhook', 'api', 'agent']);
const Transport = z.enum(['polling', 'api_sync', 'api_sse', 'a2a', 'schedule']);
const Text = z.string().nullable();
const Count = z.int().nullable();

/** What a run consumed. Token counts are whole numbers; `cost_amount` is in `currency`. */
export const RunUsage = z
  .object({
    provider: Text.optional(),
    model: Text.optional(),
    input_tokens: Count.optional(),
    cached_input_tokens: Count.optional(),
    cache_write_input_tokens: Count.optional(),
    output_tokens: Count.optional(),
    total_tokens: Count.optional(),
    cost_amount: z.number().nullable().optional(),
    cost_source: z.enum(['reported', 'estimated']).nullable().optional(),
    currency: z.string().optional(),
  })
  .meta({ id: 'RunUsage' });

const summary = {
  run_id: z.string(),
  agent_id: z.string(),
  status: RunStatusName,
  input: freeObject(),
  output: freeObject().nullable().optional(),
  error: Text.optional(),
  worker_id: Text.optional(),
  channel: RunChannel.optional(),
  transport: Transport.optional(),
  event_id: Text.optional(),
  thread_id: z.string().optional(),
  metadata: freeObject().optional(),
  usage: RunUsage.optional(),
  created_at: z.string(),
  claimed_at: Text.optional(),
  started_at: Text.optional(),
  finished_at: Text.optional(),
  // Ours beside the contract's.
  attempt: z.int(),
  origin: z.object({ kind: z.string(), id: Text }),
  parent_run_id: Text,
  labels: freeObject().meta({ type: 'object', additionalProperties: { type: 'string' } }), // a record would drop `__proto__`
  waiting: z.object({ kind: z.enum(['queue', 'backoff', 'approval']), since: z.string() }).nullable(),
  cancel_requested_at: Text,
  input_truncated: z.boolean().optional(),
  output_truncated: z.boolean().optional(),
  /** The account keeps no content of this run. */
  content_withheld: z.boolean().optional(),
};

/** A run as lists show it: an input or output over 64 KiB is left out there and marked. */
export const RunSummary = z.object({ ...summary, tool_calls: z.int().optional() }).meta({ id: 'RunSummary' });

const HookEventType = z.enum(HOOK_EVENTS).nullable();
const SpanKind = z.enum(SPAN_KINDS);

const eventIdentity = { event_id: Text.optional(), event_sequence: Count.optional() };

const LogEventResponse = z
  .object({
    id: z.int(),
    run_id: z.string(),
    level: z.string(),
    message: z.string(),
    timestamp: z.string(),
    logger: z.string().optional(),
    attributes: freeObject().optional(),
    hook_event_type: HookEventType.optional(),
    span_id: Text.optional(),
    trace_id: Text.optional(),
    ...eventIdentity,
  })
  .meta({ id: 'LogEventResponse' });

const TraceEventResponse = z
  .object({
    id: z.int(),
    run_id: z.string(),
    span_id: z.string(),
    parent_span_id: Text.optional(),
    event_type: z.enum(['span.start', 'span.end']),
    span_kind: SpanKind,
    name: z.string(),
    status: Text.optional(),
    payload: freeObject().optional(),
    hook_event_type: HookEventType.optional(),
    timestamp: z.string(),
    trace_id: Text.optional(),
    ...eventIdentity,
  })
  .meta({ id: 'TraceEventResponse' });

/** A message that a worker sent about its run. `id` is its number in the run's sequence. */
export const RunMessageResponse = z
  .object({
    id: z.int(),
    run_id: z.string(),
    role: z.string(),
    content: z.string(),
    message_type: z.string(),
    payload: freeObject().optional(),
    timestamp: z.string(),
    ...eventIdentity,
  })
  .meta({ id: 'RunMessageResponse' });

/** A run whole, with the first 1,000 log lines, messages and span events; `*_truncated` says where there are more. */
export const RunDetail = z
  .object({
    ...summary,
    revivable: z.boolean().optional(),
    log_events: z.array(LogEventResponse),
    messages: z.array(RunMessageResponse),
    trace_events: z.array(TraceEventResponse),
    diagnostics: freeObject().nullable(),
    log_events_truncated: z.boolean(),
    messages_truncated: z.boolean(),
    trace_events_truncated: z.boolean(),
  })
  .meta({ id: 'RunDetail' });

const Labels = freeObject()
  .check((context) => {
    if (!isJsonObject(context.value)) return;
    for (const { path, message } of labelProblems(context.value))
      context.issues.push({ code: 'custom', path: [...path], message, input: context.value });
  })
  .meta(LABEL_LIMITS);

/** Only a worker that has all of it may take the run. */
const Requirements = z.strictObject({ version: z.string().min(1).max(200).nullish(), labels: Labels.nullish() });

/** What every way of asking for a run may say. */
export const runRequest = {
  input: freeObject().nullish(),
  channel: RunChannel.nullish(),
  metadata: freeObject().optional(),
  usage: RunUsage.nullish(),
  // Ours beside the contract's.
  labels: Labels.nullish(),
  require: Requirements.nullish(),
};

export const RunPath = z.object({ run_id: RunId });
const When = z.iso.datetime({ offset: true });

export const createRun = operation({
  id: 'runs.create',
  summary: 'Queues a run of an agent and answers at once.',
  http: { method: 'POST', path: '/api/v1/runs', status: 200 },
  capability: 'agent.invoke',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'run.create', target: ({ agent_id }) => ['agent', agent_id] },
  idempotent: true,
  bodyLimit: 'run',
  input: { body: z.object({ agent_id: AgentName, ...runRequest }).meta({ id: 'CreateRunRequest' }) },
  output: RunSummary,
  faults: [AgentNotFound, AgentArchived, AgentDraining, AgentQueueFull, AccountQueueFull, IdempotencyConflict],
});

export const listRuns = operation({
  id: 'runs.list',
  summary: 'Lists runs, the newest first; of one thread the oldest first.',
  http: { method: 'GET', path: '/api/v1/runs', status: 200 },
  capability: 'run.read',
  input: {
    query: z.looseObject({
      thread_id: z.string().max(200).nullish(),
      agent_id: AgentName.nullish(),
      limit: z.coerce.number().int().min(1).max(500).default(100),
      status: RunStatusName.optional(),
      channel: RunChannel.optional(),
      from: When.optional(),
      to: When.optional(),
      error_text: z.string().min(1).max(200).optional(),
      cursor: z.string().max(500).optional(),
    }), // `label.<name>` beside these
  },
  output: z.array(RunSummary),
  faults: [ListTooSlow],
});

export const getRun = operation({
  id: 'runs.get',
  summary: 'Shows a run whole.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  input: { path: RunPath },
  output: RunDetail,
  faults: [RunNotFound],
});

export const cancelRun = operation({
  id: 'runs.cancel',
  summary: 'Cancels a run that has not ended; of one that has, answers it as it is.',
  http: { method: 'POST', path: '/api/v1/runs/{run_id}/cancel', status: 200 },
  capability: 'run.cancel',
  scope: ({ run_id }) => ({ run: run_id }),
  audit: { action: 'run.cancel', target: ({ run_id }) => ['run', run_id] },
  input: {
    path: RunPath,
    body: z
      .object({ reason: z.string().max(2_000).nullish() })
      .meta({ id: 'CancelRunRequest' })
      .nullish(),
  },
  output: RunSummary,
  faults: [RunNotFound],
});
