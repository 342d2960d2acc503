import { z } from 'zod';
import { SkillSummary } from '../../agents/index.ts';
import { operation } from '../../platform/operation/operation.ts';
import { ListTooSlow, RunId, RunNotFound } from '../../runs/index.ts';

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
