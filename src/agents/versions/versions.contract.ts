import { z } from 'zod';
import { anyJson, freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';
import { GenerationNotFound } from './versions.faults.ts';

const Text = z.string().nullable();
const Generation = z.coerce.number().int().min(1).max(2_147_483_647);
const info = {
  id: z.string(),
  agent_id: z.string(),
  generation: z.int(),
  version: Text,
  card_hash: z.string(),
  skills_hash: Text,
  source_commit: Text,
  source_dirty: z.boolean().nullable(),
  first_seen_at: z.string(),
  first_worker_id: Text,
  live_worker_count: z.int(),
};
const AgentGenerationInfo = z.object(info).meta({ id: 'AgentGenerationInfo' });

/** `path`: `/manifest/…` as a JSON pointer goes on, or `/skills/<skill_id>`. Null: it was not there, or is too long for this list. */
const Difference = z.object({ path: z.string(), before: anyJson(), after: anyJson(), truncated: z.boolean() });
const AgentVersionDetail = z
  .object({
    ...info,
    manifest: freeObject(),
    skills: z.array(z.object({ skill_id: z.string(), name: z.string(), md5: z.string() })),
    diff: z.array(Difference).nullable(),
    /** There are more differences than are shown. */
    diff_truncated: z.boolean(),
  })
  .meta({ id: 'AgentVersionDetail' });

export const listGenerations = operation({
  id: 'agents.versions',
  summary: 'Lists the versions of an agent, the oldest first, with how many workers run each of them now.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/versions', status: 200 },
  capability: 'agent.read',
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: {
    path: z.object({ agent_id: AgentRef }),
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).optional(),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(AgentGenerationInfo),
  faults: [AgentNotFound],
});

export const getGeneration = operation({
  id: 'agents.version',
  summary: 'Shows what a version of an agent was made with, and what is different from another one.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/versions/{generation}', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: {
    path: z.object({ agent_id: AgentRef, generation: Generation }),
    query: z.object({ compare: Generation.optional() }),
  },
  output: AgentVersionDetail,
  faults: [AgentNotFound, GenerationNotFound],
});
