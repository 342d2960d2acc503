import { writeJson } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { ConfigContent, ConfigVersions } from './versions.policy.ts';

type Asking = Pick<OpContext, 'actor' | 'sql'>;

export interface ConfigRow extends ConfigContent, ConfigVersions {
  /** 0: nothing was ever set. */
  readonly revision: number;
  readonly note: string | null;
  readonly created_at: Date | null;
  readonly created_by: string | null;
}

export const NEVER_SET: ConfigRow = {
  ...{ revision: 0, version: '', skills_version: '', action_rules_version: '', ops: [], rules: null },
  ...{ note: null, created_at: null, created_by: null },
};

const COLUMNS =
  'revision, version, skills_version, action_rules_version, ops, action_rules AS rules, note, created_at, created_by';
const IN_FORCE = `SELECT ${COLUMNS} FROM agent_worker_config WHERE account_id = $1 AND agent_id = $2 ORDER BY revision DESC LIMIT 1`;
const BY_VERSION = `
  SELECT ${COLUMNS} FROM agent_worker_config WHERE account_id = $1 AND agent_id = $2 AND version = $3 ORDER BY revision DESC LIMIT 1`;

/** What is in force. */
export async function findConfig({ actor, sql }: Asking, agentId: string): Promise<ConfigRow> {
  return (await sql<ConfigRow>(IN_FORCE, [actor.accountId, agentId]))[0] ?? NEVER_SET;
}

export async function findConfigVersion(
  { actor, sql }: Asking,
  agentId: string,
  version: string,
): Promise<ConfigRow | undefined> {
  return (await sql<ConfigRow>(BY_VERSION, [actor.accountId, agentId, version]))[0];
}

const ADD = `
  INSERT INTO agent_worker_config (account_id, agent_id, revision, version, skills_version, action_rules_version, ops, action_rules, note, created_by)
  VALUES ($1, $2, $3, $4, $5, $6, $7::json, $8::json, $9, $10)
  RETURNING ${COLUMNS}`;

/** The caller holds the agent's lock, so that this revision follows the one that it has seen. */
export async function addConfig(
  { actor, sql }: Asking,
  agentId: string,
  {
    revision,
    version,
    skills_version,
    action_rules_version,
    ops,
    rules,
    note,
  }: Omit<ConfigRow, 'created_at' | 'created_by'>,
): Promise<ConfigRow> {
  const versions = [version, skills_version, action_rules_version];
  const content = [writeJson(ops), rules && writeJson(rules), note];
  const [row] = await sql<ConfigRow>(ADD, [actor.accountId, agentId, revision, ...versions, ...content, actor.id]);
  return row ?? NEVER_SET;
}

const WORKERS = `
  SELECT id AS worker_id, config ->> 'applied_version' AS applied_version, coalesce(config -> 'unsupported_ops', '[]') AS unsupported_ops,
         config ->> 'acked_at' AS acked_at
    FROM worker_config_state WHERE account_id = $1 AND agent_id = $2 ORDER BY id LIMIT 1000`;

export interface ConfiguredWorker {
  readonly worker_id: string;
  readonly applied_version: string | null;
  readonly unsupported_ops: readonly string[];
  readonly acked_at: string | null;
}

export async function configuredWorkers({ actor, sql }: Asking, agentId: string): Promise<ConfiguredWorker[]> {
  return sql<ConfiguredWorker>(WORKERS, [actor.accountId, agentId]);
}

const LIST = `
  SELECT revision, version, skills_version, action_rules_version, note, created_at, created_by, (
           SELECT count(*)::int FROM worker_config_state AS w
            WHERE w.account_id = c.account_id AND w.agent_id = c.agent_id AND w.config ->> 'applied_version' = c.version) AS workers_on_it
    FROM agent_worker_config AS c
   WHERE account_id = $1 AND agent_id = $2 AND ($3::int IS NULL OR revision < $3)
   ORDER BY revision DESC LIMIT $4`;

export interface ListedConfig extends ConfigVersions {
  readonly revision: number;
  readonly note: string | null;
  readonly created_at: Date;
  readonly created_by: string;
  readonly workers_on_it: number;
}

export async function listConfigs(
  { actor, sql }: Asking,
  agentId: string,
  page: { readonly before: number | null; readonly limit: number },
): Promise<ListedConfig[]> {
  return sql<ListedConfig>(LIST, [actor.accountId, agentId, page.before, page.limit]);
}

/** Whether rules that are not in force any more had a rule, or a default that was not to allow, of this id. */
const HAD_RULE = `
  SELECT EXISTS (
    SELECT FROM agent_worker_config
     WHERE account_id = $1 AND agent_id = $2 AND action_rules IS NOT NULL
       AND ((action_rules::jsonb -> 'rules') @> jsonb_build_array(jsonb_build_object('id', $3::text))
         OR (coalesce(nullif(action_rules ->> 'default_rule_id', ''), 'agent-default') = $3 AND action_rules ->> 'default_outcome' <> 'allow'))) AS had`;

export async function hadRule({ actor, sql }: Asking, agentId: string, ruleId: string): Promise<boolean> {
  return (await sql<{ had: boolean }>(HAD_RULE, [actor.accountId, agentId, ruleId]))[0]?.had ?? false;
}
