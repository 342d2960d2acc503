import { writeJson, type JsonObject } from '../../platform/json/json.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { QueueRow } from '../queue/queue.store.ts';
import type { ManifestFacts } from './manifest.policy.ts';

type RunStatus = 'queued' | 'claimed' | 'running' | 'succeeded' | 'failed' | 'cancelled';

/** What other rooms ask of an agent before they give it work. */
export interface AgentRow {
  readonly id: string;
  readonly handle: string;
  readonly version: string;
  readonly generation: number;
  readonly input_schema: unknown;
  /** Why nothing is checked against the schema; null where it holds. */
  readonly input_schema_error: string | null;
  readonly default_input: JsonObject;
  readonly is_enabled: boolean;
  readonly is_archived: boolean;
  readonly queue_state: QueueRow['state'];
  /** How many of its runs, and of its account's, may wait. Null: as many as there are. */
  readonly max_queued_runs: number | null;
  readonly account_queued_runs: number | null;
}

/** An agent as lists show it. */
export interface ListedAgent {
  readonly id: string;
  readonly handle: string;
  readonly name: string;
  readonly description: string;
  readonly version: string;
  readonly owner: string;
  readonly repo: string;
  readonly source_path: string;
  readonly source_commit: string | null;
  readonly source_dirty: boolean | null;
  readonly model: string | null;
  readonly labels: Record<string, string>;
  readonly draft_config: JsonObject | null;
  readonly tools: string[];
  readonly default_input: JsonObject;
  readonly input_schema: unknown;
  readonly input_schema_error: string | null;
  readonly capabilities: JsonObject;
  readonly agent_card: JsonObject;
  readonly generation: number;
  readonly is_enabled: boolean;
  readonly archived_at: Date | null;
  /** 0: nobody has ever decided on its terms. */
  readonly policy_version: number;
  readonly queue_state: QueueRow['state'];
  readonly queue_since: Date | null;
  readonly queue_changed_by: string | null;
  readonly queue_reason: string | null;
  readonly runs_active: number;
  readonly runs_queued: number;
  readonly oldest_queued_at: Date | null;
  readonly latest_run_at: Date | null;
  readonly latest_run_status: RunStatus | null;
  readonly latest_success_at: Date | null;
  readonly instances: readonly InstanceRow[];
}

/** A worker of an agent, and what it is doing. */
export interface InstanceRow {
  readonly id: string;
  readonly generation: number | null;
  readonly version: string | null;
  readonly source_commit: string | null;
  readonly source_dirty: string | null;
  readonly sdk_version: string | null;
  readonly cluster_name: string | null;
  readonly namespace: string | null;
  readonly pod_name: string | null;
  readonly endpoint_url: string | null;
  readonly last_seen_at: Date;
  /** How long a sign of life of it counts; null: as long as the installation says for most. */
  readonly window_seconds: number | null;
  readonly channel_seen_at: Date | null;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: 'worker' | 'us' | 'unknown' | null;
  readonly unacked_since: Date | null;
  /** The agent's; null: the installation's. */
  readonly silent_limit_seconds: number | null;
  /** Since when this deployment hears without a break. */
  readonly hearing_since: Date;
  readonly now: Date;
  /** Every slot is taken. */
  readonly is_busy: boolean;
  readonly run_id: string | null;
  readonly run_status: RunStatus | null;
  readonly run_started_at: Date | null;
}

type Sql = Pick<OpContext, 'sql'>;

/**
 * With all that an order must know, so that an order without limits costs one look. Who finds the agent open to work keeps
 * it so until the end of its transaction, as a foreign key would: whoever archives it waits, and a look that an archive has
 * overtaken is taken again at that row.
 */
const FIND_FOR_WORK = `
  WITH named AS (
         SELECT id FROM agent WHERE account_id = $1 AND (id = $2 OR handle = $2) ORDER BY (id = $2) DESC LIMIT 1),
       open AS MATERIALIZED (
         SELECT id FROM agent WHERE account_id = $1 AND id = (SELECT id FROM named) AND archived_at IS NULL FOR KEY SHARE)
  SELECT agent.id, agent.handle, agent.version, agent.generation, agent.input_schema, agent.input_schema_error, agent.default_input,
         agent.is_enabled, NOT EXISTS (SELECT FROM open) AS is_archived, coalesce(door.state, 'open') AS queue_state, policy.max_queued_runs,
         limits.queued_runs AS account_queued_runs
    FROM agent
    LEFT JOIN agent_policy AS policy ON policy.account_id = agent.account_id AND policy.agent_id = agent.id
    LEFT JOIN agent_queue AS door ON door.account_id = agent.account_id AND door.agent_id = agent.id
    LEFT JOIN account_limits AS limits ON limits.account_id = agent.account_id
   WHERE agent.account_id = $1 AND agent.id = (SELECT id FROM named)`;

/** By id first, then by handle. */
export async function findForWork({ sql }: Sql, accountId: string, ref: string): Promise<AgentRow | undefined> {
  return (await sql<AgentRow>(FIND_FOR_WORK, [accountId, ref]))[0];
}

const FIND_ID =
  'SELECT id FROM agent WHERE account_id = $1 AND (id = $2 OR handle = $2) ORDER BY (id = $2) DESC LIMIT 1';

export async function findAgentId({ sql }: Sql, accountId: string, ref: string): Promise<string | undefined> {
  return (await sql<{ id: string }>(FIND_ID, [accountId, ref]))[0]?.id;
}

const LOCK = `${FIND_ID} FOR NO KEY UPDATE`;

export async function lockAgentRow({ sql }: Sql, accountId: string, ref: string): Promise<string | undefined> {
  return (await sql<{ id: string }>(LOCK, [accountId, ref]))[0]?.id;
}

/** A worker that nothing was heard of for so long is none any more; a sweep forgets it. */
const INSTANCE_DAYS = 7;
/** With its workers as JSON: of ten thousand agents none has to be held until the others have come. */
const LISTED = `
  SELECT a.id, a.handle, a.name, a.description, a.version, a.owner, a.repo, a.source_path, a.source_commit, a.source_dirty, a.model,
         coalesce(a.own_labels, a.labels) AS labels, a.draft_config, a.tools, a.default_input, a.input_schema, a.input_schema_error, a.capabilities, a.agent_card, a.generation,
         a.is_enabled, a.archived_at, coalesce(policy.version, 0) AS policy_version, coalesce(door.state, 'open') AS queue_state,
         door.since AS queue_since, door.changed_by AS queue_changed_by, door.reason AS queue_reason, live.runs_active, live.runs_queued, live.oldest_queued_at,
         latest.latest_run_at, latest.latest_run_status, success.latest_success_at, crew.instances
    FROM agent AS a
   CROSS JOIN hearing
    LEFT JOIN agent_policy AS policy ON policy.account_id = a.account_id AND policy.agent_id = a.id
    LEFT JOIN agent_queue AS door ON door.account_id = a.account_id AND door.agent_id = a.id
   CROSS JOIN LATERAL (
     SELECT (count(*) FILTER (WHERE r.status <> 'queued'))::int AS runs_active, (count(*) FILTER (WHERE r.status = 'queued'))::int AS runs_queued,
            min(r.queued_at) FILTER (WHERE r.status = 'queued') AS oldest_queued_at FROM run_facts AS r
      WHERE r.account_id = a.account_id AND r.agent_id = a.id AND r.status IN ('queued', 'claimed', 'running')) AS live
    LEFT JOIN LATERAL (
     SELECT r.created_at AS latest_run_at, r.status AS latest_run_status FROM run_facts AS r
      WHERE r.account_id = a.account_id AND r.agent_id = a.id ORDER BY r.created_at DESC, r.id DESC LIMIT 1) AS latest ON true
    LEFT JOIN LATERAL (
     SELECT r.finished_at AS latest_success_at FROM run_facts AS r
      WHERE r.account_id = a.account_id AND r.agent_id = a.id AND r.status = 'succeeded'
      ORDER BY r.finished_at DESC LIMIT 1) AS success ON true
   CROSS JOIN LATERAL (
     SELECT coalesce(json_agg(one), '[]') AS instances FROM (
       SELECT w.id, w.generation, said.version, said.source_commit, said.source_dirty, w.sdk_version, said.cluster_name, said.namespace,
              said.pod_name, w.endpoint_url, w.last_seen_at, w.window_seconds, w.channel_opened_at, w.channel_closed_at, w.channel_closed_by,
              w.unacked_since, policy.silent_limit_seconds, hearing.since AS hearing_since, now() AS now,
              greatest(w.channel_opened_at, w.last_pong_at) AS channel_seen_at, coalesce(held.taken, 0) >= w.max_concurrent AS is_busy,
              held.id AS run_id, held.status AS run_status, held.started_at AS run_started_at
         FROM worker_presence AS w
         LEFT JOIN LATERAL jsonb_to_record(w.manifest) AS said(
           version text, source_commit text, source_dirty text, cluster_name text, namespace text, pod_name text) ON true
         LEFT JOIN LATERAL (
          SELECT r.id, r.status, r.started_at, (count(r.slot) OVER ())::int AS taken FROM run_facts AS r
           WHERE r.account_id = w.account_id AND r.worker_id = w.id AND r.agent_id = w.agent_id AND r.status IN ('claimed', 'running')
           ORDER BY r.started_at IS NULL, r.claimed_at, r.id LIMIT 1) AS held ON true
        WHERE w.account_id = a.account_id AND w.agent_id = a.id AND w.registered_at IS NOT NULL
          AND w.last_seen_at > now() - make_interval(days => ${INSTANCE_DAYS})
        ORDER BY w.first_seen_at, w.id) AS one) AS crew
   WHERE a.account_id = $1`;
const LIST = `${LISTED} AND ($2 OR a.archived_at IS NULL) ORDER BY a.created_at, a.id`;
const BY_IDS = `${LISTED} AND a.id = ANY ($2)`;
const SHOW = `${LISTED} AND (a.id = $2 OR a.handle = $2) ORDER BY (a.id = $2) DESC LIMIT 1`;

type Found = Omit<ListedAgent, 'instances'> & { readonly instances: readonly Readonly<Record<string, unknown>>[] };

const TIMES = [
  'last_seen_at',
  'channel_seen_at',
  'channel_opened_at',
  'channel_closed_at',
  'unacked_since',
  'hearing_since',
  'now',
  'run_started_at',
] as const;

function listed({ instances, ...agent }: Found): ListedAgent {
  return { ...agent, instances: instances.map(instanceOf) };
}

/** As a row would have it: JSON knows no times. */
function instanceOf(sent: Readonly<Record<string, unknown>>): InstanceRow {
  const times = TIMES.map((name) => [name, typeof sent[name] === 'string' ? new Date(sent[name]) : null]);
  return { ...sent, ...Object.fromEntries(times) } as InstanceRow;
}

export async function eachAgentRow(
  { actor, each }: Pick<OpContext, 'actor' | 'each'>,
  withArchived: boolean,
  take: (agent: ListedAgent) => void,
): Promise<void> {
  await each<Found>(LIST, [actor.accountId, withArchived], (found) => take(listed(found)));
}

export async function agentRowsById({ sql }: Sql, accountId: string, ids: readonly string[]): Promise<ListedAgent[]> {
  return (await sql<Found>(BY_IDS, [accountId, ids])).map(listed);
}

export async function showAgentRow({ sql }: Sql, accountId: string, ref: string): Promise<ListedAgent | undefined> {
  return (await sql<Found>(SHOW, [accountId, ref])).map(listed)[0];
}

const KNOWN = `
  SELECT (SELECT generation FROM agent WHERE account_id = $1 AND id = $2 AND manifest_hash = $3) AS generation,
         EXISTS (SELECT FROM agent WHERE account_id = $1 AND (handle = $4 OR id = $4) AND id <> $2) AS names_another`;

export interface Knowledge {
  /** The agent's generation, if the newest manifest had this very hash. */
  readonly generation: number | null;
  /** The author's name for the agent is the name of another one. */
  readonly names_another: boolean;
}

/** What is known of a manifest before anything is written. */
export async function recallManifest(ctx: OpContext, hash: Buffer, claimedName: string): Promise<Knowledge> {
  const { accountId, id } = ctx.actor;
  const [row] = await ctx.sql<Knowledge>(KNOWN, [accountId, id, hash, claimedName]);
  return row ?? { generation: null, names_another: false };
}

/** Also locks the agent, so that generations are numbered one after the other. */
const FOLLOW = `
  INSERT INTO agent (account_id, id, handle, name, description, version, owner, repo, source_path, source_commit, source_dirty, model,
                     labels, tools, default_input, input_schema, input_schema_error, capabilities, agent_card, triggers, manifest_hash)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13::jsonb, $14::text[], $15::jsonb, $16::jsonb, $17, $18::jsonb, $19::jsonb,
          $20::jsonb, $21)
  ON CONFLICT (account_id, id) DO UPDATE SET
    name = excluded.name, description = excluded.description, version = excluded.version, owner = excluded.owner, repo = excluded.repo,
    source_path = excluded.source_path, source_commit = excluded.source_commit, source_dirty = excluded.source_dirty,
    model = excluded.model, labels = excluded.labels, tools = excluded.tools, default_input = excluded.default_input,
    input_schema = excluded.input_schema, input_schema_error = excluded.input_schema_error, capabilities = excluded.capabilities,
    agent_card = excluded.agent_card, triggers = excluded.triggers, manifest_hash = excluded.manifest_hash, updated_at = now()`;

/** Makes the agent what its newest manifest says; the first one makes the agent. Whether it may run is not the manifest's. */
export async function followManifest(
  ctx: OpContext,
  facts: ManifestFacts,
  hash: Buffer,
  inputSchemaError: string | null,
): Promise<void> {
  const { accountId, id, agentHandle } = ctx.actor;
  const { name, description, version, owner, repo, sourcePath, sourceCommit, sourceDirty, model } = facts;
  await ctx.sql(FOLLOW, [
    ...[
      accountId,
      id,
      agentHandle,
      name,
      description,
      version,
      owner,
      repo,
      sourcePath,
      sourceCommit,
      sourceDirty,
      model,
    ],
    ...[
      writeJson(facts.labels),
      facts.tools,
      writeJson(facts.defaultInput),
      writeJson(facts.inputSchema),
      inputSchemaError,
    ],
    ...[writeJson(facts.capabilities), writeJson(facts.agentCard), writeJson(facts.triggers), hash],
  ]);
}

/** An agent as grants know it: by its handle, which no manifest changes. */
export const AGENT_RESOURCE = `
  SELECT id, handle AS name, coalesce(own_labels, labels) AS labels, NULL::json AS parents FROM agent
   WHERE account_id = $1 AND (id = $2 OR handle = $2) ORDER BY (id = $2) DESC LIMIT 1`;
