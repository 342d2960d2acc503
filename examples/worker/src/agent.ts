/** The agent as its author describes it, and what of it goes out when a worker registers (worker-protocol §7.1). */

import { createHash } from 'node:crypto';
import { hostname } from 'node:os';
import { present, type JsonObject } from './json.ts';

/** Names this library to the control plane, which then knows what it may be told. */
const SDK_VERSION = 'signalbox-worker/0.1.0';

/** A skill of the agent: text that a model reads when it needs it. */
export interface Skill {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Markdown. */
  readonly content: string;
  readonly tags?: readonly string[];
}

export interface AgentDefinition {
  /** The agent's handle. The worker token decides which agent is served; another agent's handle here is refused with 403. */
  readonly id: string;
  /** For people; the handle unless said. */
  readonly name?: string;
  readonly description?: string;
  /** Runs may ask for it; `dev` unless said. */
  readonly version?: string;
  readonly owner?: string;
  readonly model?: string;
  /** Runs may ask for these, too. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Names of all tools that the agent uses. Absent: not known. */
  readonly tools?: readonly string[];
  /** JSON Schema of a run's input: a call that does not fit it never becomes a run. */
  readonly inputSchema?: JsonObject;
  readonly defaultInput?: JsonObject;
  readonly skills?: readonly Skill[];
  /** Further capabilities of the agent's card, such as `{ chat: true }`. `streaming` is set, `replay` follows `canReplay`. */
  readonly capabilities?: JsonObject;
  /** Every side effect goes through `run.tool`, so a run can be replayed on recorded answers. False unless said. */
  readonly canReplay?: boolean;
}

/** The payload of `register`. */
export function registration(agent: AgentDefinition, maxConcurrent: number): JsonObject {
  const { id, name = id, description = '', version = 'dev', model, tools } = agent;
  const skills = (agent.skills ?? []).map(toWire);
  const capabilities = {
    streaming: true,
    ...agent.capabilities,
    ...(agent.canReplay ? { replay: ['every_tool'] } : {}),
  };
  return {
    manifest: present({
      agent_id: id,
      name,
      description,
      version,
      owner: agent.owner ?? '',
      repo: '',
      source_path: '',
      model,
      labels: agent.labels ?? {},
      tools: tools ?? [],
      tools_complete: tools !== undefined,
      input_schema: agent.inputSchema ?? {},
      default_input: agent.defaultInput ?? {},
      capabilities: {},
      agent_card: present({
        name,
        description,
        version,
        model,
        skills: skills.map((skill) => ({ id: skill.skill_id, name: skill.name, description: skill.description })),
        use_cases: [SAMPLE_RUN],
        capabilities,
      }),
      triggers: [],
      pod_name: hostname(),
      wire_protocol_version: 2,
      sdk_version: SDK_VERSION,
      max_concurrent: maxConcurrent,
    }),
    skills,
    skills_hash: skillsHash(skills),
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

function toWire({ id, name, description, content, tags = [] }: Skill) {
  return { skill_id: id, name, description, content, tags, md5: md5(content) };
}

/** Says at a glance whether any skill has changed. */
function skillsHash(skills: readonly { readonly skill_id: string; readonly md5: string }[]): string {
  const sorted = [...skills].sort((a, b) => (a.skill_id < b.skill_id ? -1 : 1));
  return md5(sorted.map((skill) => `${skill.skill_id}\0${skill.md5}\0`).join(''));
}

function md5(text: string): string {
  return createHash('md5').update(text).digest('hex');
}
