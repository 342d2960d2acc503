import type { z } from 'zod';
import { wireTime } from '../../platform/clock/clock.ts';
import { isJsonObject, type JsonObject } from '../../platform/json/json.ts';
import type { SkillSummary, getSkill } from './skills.contract.ts';
import type { SkillRow } from './skills.store.ts';

type Summary = z.output<typeof SkillSummary>;
type Detail = z.output<(typeof getSkill)['output']>;

/**
 * One entry for all rows of which `keyOf` says the same, each with all the agents that have it. The first row of an entry
 * speaks for it; what another agent has under the same id shows by its hash.
 */
export function summariesOf(rows: readonly SkillRow[], keyOf: (row: SkillRow) => string): Summary[] {
  return [...Map.groupBy(rows, keyOf).values()].flatMap((sources) =>
    sources.slice(0, 1).map((first) => summaryOf(first, sources)),
  );
}

export function summaryOf(row: SkillRow, sources: readonly SkillRow[]): Summary {
  const { skill_id, name, description, tags } = row;
  return {
    ...{ skill_id, name, description },
    tags: Array.isArray(tags) ? tags.filter((tag): tag is string => typeof tag === 'string') : [],
    ...contentOf(row),
    source_agents: sources.map((source) => ({ source_agent_id: source.agent_id, ...contentOf(source) })),
  };
}

/** Only the texts of a skill are shown: whatever else a worker sent as one is left out. */
export function detailOf(summary: Summary, whole: JsonObject): Detail {
  const references = Array.isArray(whole['references']) ? whole['references'].filter(isJsonObject) : [];
  return {
    ...summary,
    content: textOf(whole['content']),
    references: references.map(({ filename, content }) => ({ filename: textOf(filename), content: textOf(content) })),
  };
}

function contentOf({ md5, path, version, updated_at }: SkillRow) {
  return { md5, path, version, updated_at: wireTime(updated_at) };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
