import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import type { listSkills } from './skills.contract.ts';
import type { SkillRow } from './skills.store.ts';

type Summary = z.output<(typeof listSkills)['output']>[string][number];

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);

/** The skills with this name or id: one entry for each content, with all the agents that have it. */
export function matching(name: string, rows: readonly SkillRow[]): Summary[] {
  const entries = new Map<string, Summary>();
  for (const row of rows.filter(({ skill }) => skill['name'] === name || skill['skill_id'] === name)) {
    const summary = summaryOf(row);
    const key = JSON.stringify([summary.skill_id, summary.md5]);
    const { md5, path, updated_at, version } = summary;
    const known = entries.get(key) ?? summary;
    known.source_agents.push({ source_agent_id: row.agent_id, md5, path, updated_at, version });
    entries.set(key, known);
  }
  return [...entries.values()];
}

function summaryOf({ skill, created_at }: SkillRow): Summary {
  const tags = Array.isArray(skill['tags'])
    ? skill['tags'].filter((tag): tag is string => typeof tag === 'string')
    : [];
  return {
    skill_id: text(skill['skill_id']),
    name: text(skill['name']),
    description: text(skill['description']),
    tags,
    md5: text(skill['md5']),
    path: textOrNull(skill['path']),
    version: textOrNull(skill['version']),
    updated_at: wireTime(created_at),
    source_agents: [],
  };
}
