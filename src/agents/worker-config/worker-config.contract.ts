import { z } from 'zod';
import { anyJson, freeObject } from '../../platform/json/json.ts';
import { operation } from '../../platform/operation/operation.ts';
import { AgentRef } from '../registry/registry.contract.ts';
import { AgentNotFound } from '../registry/registry.faults.ts';
import { literalSecrets } from './literals.policy.ts';
import { WorkerConfigChanged } from './worker-config.faults.ts';

/**
 * What workers of an agent are configured with (worker-protocol.md §13). A worker reads all of it or nothing, and one value
 * that it does not know costs it the whole, rules included: so every closed list is closed here.
 */
const OPS = [
  'prompt_append',
  'prompt_prepend',
  'prompt_replace',
  'mcp_server_set',
  'mcp_server_remove',
  'skill_set',
] as const;
const Name = z.string().min(1).max(200);
const Window = z.int().min(300).max(43_200);
/** Somewhere below a folder of the worker's, and nowhere else. */
const RelativePath = z
  .string()
  .min(1)
  .max(500)
  .refine(
    (path) => !/^[/\\]|^[A-Za-z]:/.test(path) && !path.split(/[/\\]/).includes('..'),
    'must be a path below the skill’s folder',
  );

/** What an operation of a kind cannot be without. */
const NEEDED: Readonly<Partial<Record<(typeof OPS)[number], readonly ('text' | 'name' | 'server' | 'skill_id')[]>>> = {
  prompt_append: ['text'],
  prompt_prepend: ['text'],
  prompt_replace: ['text'],
  mcp_server_set: ['name', 'server'],
  mcp_server_remove: ['name'],
  skill_set: ['skill_id'],
};

const ConfigOp = z
  .strictObject({
    type: z.enum(OPS),
    text: z.string().max(500_000).optional(),
    name: Name.nullish(),
    server: freeObject().nullish(),
    skill_id: Name.nullish(),
    version: z.string().max(200).nullish(),
    resources: z
      .array(
        z.strictObject({
          path: RelativePath,
          content: z.string().max(500_000),
          executable: z.boolean().optional(),
        }),
      )
      .max(100)
      .optional(),
  })
  .check((context) => {
    const { type, server } = context.value;
    for (const field of NEEDED[type] ?? [])
      if (context.value[field] === undefined || context.value[field] === null)
        context.issues.push({ code: 'custom', path: [field], message: `${type} needs it`, input: undefined });
    for (const path of literalSecrets(server ?? {}))
      context.issues.push({
        code: 'custom',
        path: ['server', ...path],
        message: 'a secret in clear text: name it, as in ${NAME}',
        input: undefined,
      });
  })
  .meta({ id: 'ConfigOp' });

const ActionRule = z.strictObject({
  id: Name,
  name: z.string().max(500),
  outcome: z.enum(['deny', 'ask', 'allow']),
  criteria: z
    .array(
      z.strictObject({
        tool_patterns: z.array(Name).min(1).max(200),
        arg_conditions: z
          .array(
            z.strictObject({
              arg: Name,
              op: z.enum(['equals', 'one_of', 'contains', 'matches', 'regex']),
              value: anyJson().optional(),
            }),
          )
          .max(50)
          .optional(),
      }),
    )
    .min(1)
    .max(50),
  window_seconds: Window.nullish(),
});

const ActionRules = z
  .strictObject({
    /** Ours to say: what is sent is read over. */
    version: z.string().max(200).optional(),
    rules: z.array(ActionRule).max(500).default([]),
    default_outcome: z.enum(['deny', 'ask', 'allow']).default('allow'),
    default_rule_id: z.string().max(200).default(''),
    default_rule_name: z.string().max(500).default(''),
    window_seconds: Window.nullish(),
  })
  .check((context) => {
    const ids = context.value.rules.map(({ id }) => id);
    for (const [index, id] of ids.entries())
      if (ids.indexOf(id) < index)
        context.issues.push({ code: 'custom', path: ['rules', index, 'id'], message: 'is taken', input: id });
  })
  .meta({ id: 'ActionRules' });

export type ConfigOps = readonly z.output<typeof ConfigOp>[];
export type Rules = z.output<typeof ActionRules>;

const WorkerConfigInput = z
  .strictObject({
    ops: z.array(ConfigOp).max(200).default([]),
    action_rules: ActionRules.nullish(),
    note: z.string().max(500).nullish(),
    base_version: z.string().max(200).nullish(),
    /** As `base_version`, for changes of rules or skills alone too, which leave the version as it is. */
    base_revision: z.int().min(0).max(2_147_483_647).nullish(),
  })
  .meta({ id: 'WorkerConfigInput' });

const Text = z.string().nullable();
const versions = { version: z.string(), skills_version: z.string(), action_rules_version: z.string() };

const WorkerConfigView = z
  .object({
    agent_id: z.string(),
    revision: z.int(),
    ...versions,
    ops: z.array(z.object(ConfigOp.shape)),
    action_rules: z.object({ ...ActionRules.shape, version: z.string(), rules: z.array(z.object(ActionRule.shape)) }),
    note: Text,
    created_at: Text,
    created_by: Text,
    restarts_workers: z.boolean(),
    workers: z.array(
      z.object({
        worker_id: z.string(),
        applied_version: Text,
        unsupported_ops: z.array(z.string()),
        acked_at: Text,
      }),
    ),
  })
  .meta({ id: 'WorkerConfigView' });

const WorkerConfigVersion = z
  .object({
    revision: z.int(),
    ...versions,
    created_at: z.string(),
    created_by: z.string(),
    note: Text,
    workers_on_it: z.int(),
  })
  .meta({ id: 'WorkerConfigVersion' });

const path = z.object({ agent_id: AgentRef });

export const getWorkerConfig = operation({
  id: 'agents.get_worker_config',
  summary: 'Shows what workers of an agent are configured with, and which of them run it.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/worker-config', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: { path, query: z.object({ version: z.string().max(200).optional() }) },
  output: WorkerConfigView,
  faults: [AgentNotFound],
});

export const putWorkerConfig = operation({
  id: 'agents.put_worker_config',
  summary: 'Replaces what workers of an agent are configured with; with `dry_run` only says what would be stored.',
  http: { method: 'PUT', path: '/api/v1/agents/{agent_id}/worker-config', status: 200 },
  capability: 'agent.update',
  operatorsOnly: true,
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  audit: { action: 'worker_config.update', target: ({ agent_id }) => ['agent', agent_id] },
  input: {
    path,
    query: z.object({ dry_run: z.enum(['true', 'false', '1', '0']).default('false') }),
    body: WorkerConfigInput,
  },
  output: WorkerConfigView,
  faults: [AgentNotFound, WorkerConfigChanged],
});

export const listWorkerConfigs = operation({
  id: 'agents.worker_configs',
  summary: 'Lists what workers of an agent were configured with, the newest first.',
  http: { method: 'GET', path: '/api/v1/agents/{agent_id}/worker-config/versions', status: 200 },
  capability: 'agent.read',
  ours: true,
  scope: ({ agent_id }) => ({ agent: agent_id }),
  input: {
    path,
    query: z.object({
      limit: z.coerce.number().int().min(1).max(500).default(100),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(WorkerConfigVersion),
  faults: [AgentNotFound],
});
