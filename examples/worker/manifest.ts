/** What a worker says about itself when it registers. */

import { createHash } from 'node:crypto';
import type { JsonObject } from './frames.ts';

/** A skill of the agent: text that a model reads when it needs it. */
export interface Skill {
  readonly skill_id: string;
  readonly name: string;
  readonly description: string;
  readonly content: string;
  readonly tags?: readonly string[];
}

/** The agent as its author describes it. Everything is optional. */
export interface AgentDescription {
  readonly description?: string;
  readonly version?: string;
  readonly owner?: string;
  readonly model?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of the tools that the agent uses. */
  readonly tools?: readonly string[];
  /** JSON Schema of a run's input: a call that does not fit it never becomes a run. */
  readonly input_schema?: JsonObject;
  readonly default_input?: JsonObject;
  readonly skills?: readonly Skill[];
}

/**
 * The payload of `register`.
 *
 * `max_concurrent` is how a worker that is not the Python SDK announces itself, together with use cases and without an
 * `sdk_version`, which would claim to be a version of that SDK.
 */
export function registration(agentId: string, name: string, agent: AgentDescription): JsonObject {
  const { description = '', version = 'dev', owner = '', labels = {}, tools, skills = [] } = agent;
  const model = agent.model === undefined ? {} : { model: agent.model };
  const skillList = skills.map((skill) => ({ tags: [], ...skill, md5: md5(skill.content) }));
  return {
    manifest: {
      agent_id: agentId,
      name,
      description,
      version,
      owner,
      repo: '',
      source_path: '',
      ...model,
      labels,
      tools: tools ?? [],
      tools_complete: tools !== undefined,
      input_schema: agent.input_schema ?? {},
      default_input: agent.default_input ?? {},
      capabilities: {},
      agent_card: {
        name,
        description,
        version,
        ...model,
        skills: skillList.map((skill) => ({ id: skill.skill_id, name: skill.name, description: skill.description })),
        use_cases: [SAMPLE_RUN],
        capabilities: { streaming: true },
      },
      triggers: [],
      wire_protocol_version: 2,
      max_concurrent: 1,
    },
    skills: skillList,
    skills_hash: skillsHash(skillList),
  };
}

/** The one thing that every agent can be asked for: to show what it does, without a prompt. */
const SAMPLE_RUN = {
  slug: 'sample_run',
  description: 'Runs the agent once without a prompt.',
  input_schema: {},
  output_schema: {},
  timeout_seconds: 120,
};

/** Says at a glance whether any skill has changed. */
function skillsHash(skills: readonly { skill_id: string; md5: string }[]): string {
  const sorted = skills.toSorted((a, b) => (a.skill_id < b.skill_id ? -1 : 1));
  return md5(sorted.map((skill) => `${skill.skill_id}\0${skill.md5}\0`).join(''));
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
