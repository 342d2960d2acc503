import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AgentRef } from '../registry/registry.contract.ts';
import { SkillNotFound } from './skills.faults.ts';

const Text = z.string().nullable();
const source = { md5: z.string(), path: Text, updated_at: z.string(), version: Text };

/** What one agent has under the skill's id. */
const SkillSourceAgent = z.object({ source_agent_id: z.string(), ...source }).meta({ id: 'SkillSourceAgent' });
const summary = {
  skill_id: z.string(),
  name: z.string(),
  description: z.string(),
  tags: z.array(z.string()),
  source_agents: z.array(SkillSourceAgent),
  ...source,
};
export const SkillSummary = z.object(summary).meta({ id: 'SkillSummary' });

const SkillReference = z.object({ filename: z.string(), content: z.string() }).meta({ id: 'SkillReference' });
const SkillDetail = z
  .object({ ...summary, content: z.string(), references: z.array(SkillReference) })
  .meta({ id: 'SkillDetail' });

export const listSkills = operation({
  id: 'agents.skills',
  summary: 'Lists the skills that agents have in the version they are in, each with the agents that have it.',
  http: { method: 'GET', path: '/api/v1/skills', status: 200 },
  capability: 'skill.read',
  input: { query: z.object({ agent_id: AgentRef.optional() }) },
  output: z.array(SkillSummary),
  faults: [],
});

export const getSkill = operation({
  id: 'agents.skill',
  summary: 'Shows a skill with its content: the newest one, or that of one agent.',
  http: { method: 'GET', path: '/api/v1/skills/{skill_id}', status: 200 },
  capability: 'skill.read',
  input: {
    path: z.object({ skill_id: z.string().min(1).max(500) }),
    query: z.object({ agent_id: AgentRef.optional() }),
  },
  output: SkillDetail,
  faults: [SkillNotFound],
});
