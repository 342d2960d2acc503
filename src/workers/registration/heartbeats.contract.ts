import { z } from 'zod';
import { WrongAgent } from '../../agents/index.ts';
import { freeObject, isJsonObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';
import { WorkerIdTaken } from './registration.contract.ts';

const TEXT = { type: 'string' };
const MAYBE_TEXT = { type: ['string', 'null'] };
const ANY_OBJECT = { type: 'object', additionalProperties: true };

const TEXTS = { type: 'array', items: TEXT };
/** What the kinds of triggers hold, each some of it. */
const TRIGGER = {
  ...{ type: TEXT, id: TEXT, name: TEXT, description: MAYBE_TEXT, enabled: { type: 'boolean' }, input: ANY_OBJECT },
  ...{ cron: TEXT, timezone: TEXT, header: TEXT, keywords: TEXTS, channels: TEXTS, users: TEXTS },
};

/** How SDK 0.1 describes its agent. But for its name, whatever is of another type than this reads as if it had not been said. */
const AgentManifest = freeObject()
  .check(({ value, issues }) => {
    if (!isJsonObject(value) || typeof value['agent_id'] === 'string') return;
    issues.push({ code: 'invalid_type', expected: 'string', input: value['agent_id'], path: ['agent_id'] });
  })
  .meta({
    id: 'AgentManifest',
    type: 'object',
    required: ['agent_id'],
    properties: {
      ...{ agent_id: TEXT, name: TEXT, description: TEXT, version: TEXT, owner: TEXT, repo: TEXT, source_path: TEXT },
      ...{ source_commit: MAYBE_TEXT, source_dirty: { type: ['boolean', 'null'] }, model: MAYBE_TEXT },
      labels: { type: 'object', additionalProperties: TEXT },
      tools: TEXTS,
      ...{ default_input: ANY_OBJECT, input_schema: ANY_OBJECT, capabilities: ANY_OBJECT, agent_card: ANY_OBJECT },
      skills: { type: ['array', 'null'], items: ANY_OBJECT },
      triggers: { type: 'array', items: { type: 'object', properties: TRIGGER } },
      ...{ endpoint_url: MAYBE_TEXT, sdk_version: MAYBE_TEXT },
      ...{ cluster_name: MAYBE_TEXT, namespace: MAYBE_TEXT, pod_name: MAYBE_TEXT },
    },
  });

/** `skills` left out, or null, are those that were said before. Of the two worker ids that of the path counts. */
export const beat = operation({
  id: 'workers.beat',
  summary: 'Says every few seconds that a worker lives, and what its agent is; the first one takes the worker in.',
  http: { method: 'PUT', path: '/api/v1/workers/{worker_id}/heartbeat', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('a sign of life every few seconds; the service records those that change something, and refusals'),
  evidence: true, // read leniently: the service refuses what must not be altered
  bodyLimit: 'frame', // the first one holds the skills
  input: {
    path: WorkerPath,
    headers: z.object({ 'x-skills-hash': z.string().max(200).nullish() }),
    body: z.object({ worker_id: z.string(), agent: AgentManifest }).meta({ id: 'HeartbeatRequest' }),
  },
  output: z
    .object({
      agent_id: z.string(),
      worker_id: z.string(),
      status: z.enum(['online', 'offline', 'draft', 'deploying', 'deploy_failed']),
      last_heartbeat_at: z.string(),
      mcp_group_name: z.string().nullable(),
    })
    .meta({ id: 'HeartbeatResponse' }),
  faults: [WrongAgent, WorkerIdTaken],
});
