import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { AgentArchived, AgentDraining, AgentNotFound } from '../../agents/index.ts';
import { StreamTooMany } from '../../evidence/index.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { jsonOrStream } from '../../platform/operation/output.ts';
import { IdempotencyConflict } from '../../platform/faults/faults.ts';
import { AccountQueueFull, AgentQueueFull, RunStatusName, RunUsage, runRequest } from '../../runs/index.ts';

/** A switch in a query, in the spellings that public clients send. */
const Switch = z
  .union([z.boolean(), z.enum(['true', 'false', '1', '0', 'True', 'False', 'yes', 'no', 'on', 'off'])])
  .transform((value) => value === true || ['true', '1', 'True', 'yes', 'on'].includes(String(value)));

const InvokeAgentResponse = z
  .object({
    run_id: z.string(),
    event_id: z.string(),
    agent_id: z.string(),
    status: RunStatusName,
    output: freeObject().nullable().optional(),
    error: z.string().nullable().optional(),
    usage: RunUsage.optional(),
    /** The account keeps no content: the output is not known here. */
    content_withheld: z.boolean().optional(),
  })
  .meta({ id: 'InvokeAgentResponse' });

export const invokeAgent = operation({
  id: 'entry.invoke',
  summary: 'Runs an agent and answers with the run’s end, or with its events as they come.',
  http: { method: 'POST', path: '/api/v1/agents/{agent_id}/invoke', status: 200 },
  capability: 'agent.invoke',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'agent.invoke', target: ({ agent_id }) => ['agent', agent_id] },
  idempotent: true,
  bodyLimit: 'run',
  input: {
    path: z.object({ agent_id: AgentName }),
    query: z.object({ stream: Switch.default(false).meta({ type: 'boolean', default: false }) }),
    body: z
      .object({ ...runRequest, event_id: z.string().min(1).max(200).nullish() })
      .meta({ id: 'InvokeAgentRequest' }),
  },
  output: jsonOrStream(InvokeAgentResponse, 'The run at its end; with ?stream=true its events, the last one `done`.'),
  faults: [
    AgentNotFound,
    AgentArchived,
    AgentDraining,
    AgentQueueFull,
    AccountQueueFull,
    IdempotencyConflict,
    StreamTooMany,
  ],
});
