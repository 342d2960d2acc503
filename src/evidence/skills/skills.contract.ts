import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { ListTooSlow, RunId, RunNotFound } from '../../runs/index.ts';

const Text = z.string().nullable();
const source = { md5: z.string(), path: Text, updated_at: z.string(), version: Text };

const SkillSourceAgent = z.object({ source_agent_id: z.string(), ...source }).meta({ id: 'SkillSourceAgent' });
const SkillSummary = z
  .object({
    skill_id: z.string(),
    name: z.string(),
    description: z.string(),
    tags: z.array(z.string()),
    source_agents: z.array(SkillSourceAgent),
    ...source,
  })
  .meta({ id: 'SkillSummary' });

export const listSkills = operation({
  id: 'evidence.list_skills',
  summary:
    'Shows which skills a run used, by the name that its worker gave them, with the skills of the account that match.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/skills', status: 200 },
  capability: 'run.read',
  scope: ({ run_id }) => ({ run: run_id }),
  input: { path: z.object({ run_id: RunId }) },
  output: z.record(z.string(), z.array(SkillSummary)),
  faults: [RunNotFound, ListTooSlow],
});
