import { sha256OfCanonical } from '../../platform/json/json.ts';
import type { ConfigOps, Rules } from './worker-config.contract.ts';

/** What a configuration is made of. Null: no rules were ever set, or they were taken away. */
export interface ConfigContent {
  readonly ops: ConfigOps;
  readonly rules: Rules | null;
}

/**
 * The versions of the three parts, which change for themselves: a worker restarts for a new `version`, and fetches rules
 * and skills before its next run. Empty where the part is. This is the one place that makes them: a job that names a version
 * which no bundle has makes its worker restart after each run (worker-protocol.md §23.7).
 */
export interface ConfigVersions {
  readonly version: string;
  readonly skills_version: string;
  readonly action_rules_version: string;
}

export const NO_VERSIONS: ConfigVersions = { version: '', skills_version: '', action_rules_version: '' };
const NO_RULES: Rules = { rules: [], default_outcome: 'allow', default_rule_id: '', default_rule_name: '' };

export function versionsOf({ ops, rules }: ConfigContent): ConfigVersions {
  const skills = ops.filter(({ type }) => type === 'skill_set');
  const others = ops.filter(({ type }) => type !== 'skill_set');
  return {
    version: others.length === 0 ? '' : hashOf(others),
    skills_version: skills.length === 0 ? '' : hashOf(skills),
    action_rules_version: governsNothing(rules) ? '' : hashOf({ ...rules, version: undefined }),
  };
}

/** As workers and operators read them: whole, and with the version that we say. */
export function rulesAs(version: string, rules: Rules | null): Rules & { readonly version: string } {
  return { ...(rules ?? NO_RULES), version };
}

/** A skill is written under its name; one without goes by its id. */
export function opsForWorkers(ops: ConfigOps): ConfigOps {
  return ops.map((op) => (op.type === 'skill_set' ? { ...op, name: op.name ?? op.skill_id } : op));
}

function governsNothing(rules: Rules | null): boolean {
  return rules === null || (rules.rules.length === 0 && rules.default_outcome === 'allow');
}

function hashOf(part: unknown): string {
  return sha256OfCanonical(part).toString('hex').slice(0, 32);
}
