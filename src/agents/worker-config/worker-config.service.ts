import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { invalid } from '../../platform/faults/faults.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { AgentRegistry } from '../registry/registry.service.ts';
import { governing, type Governing } from './governing.policy.ts';
import { opsForWorkers, rulesAs, versionsOf, type ConfigVersions } from './versions.policy.ts';
import type {
  ConfigOps,
  Rules,
  getWorkerConfig,
  listWorkerConfigs,
  putWorkerConfig,
} from './worker-config.contract.ts';
import { WorkerConfigChanged } from './worker-config.faults.ts';
import {
  NEVER_SET,
  addConfig,
  configuredWorkers,
  findConfig,
  findConfigVersion,
  hadRule,
  listConfigs,
  type ConfigRow,
} from './worker-config.store.ts';

type View = Out<typeof getWorkerConfig>;

/** What a worker is handed when it asks. Of what was never set it says nothing but that there is no version. */
export type Bundle =
  | { readonly version: '' }
  | (ConfigVersions & { readonly ops: ConfigOps; readonly action_rules: Rules & { readonly version: string } });

/** What workers of an agent are configured with. Each change is a row; the last one is in force. */
@Injectable()
export class WorkerConfigs {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Bus) private readonly bus: Bus,
  ) {}

  async get(ctx: OpContext, { agent_id, version }: In<typeof getWorkerConfig>): Promise<View> {
    const agentId = await this.agents.require(ctx, agent_id);
    const row = version === undefined ? await findConfig(ctx, agentId) : await findConfigVersion(ctx, agentId, version);
    if (!row && version !== '') throw invalid(['query', 'version'], 'the agent’s workers never had this version');
    return this.view(ctx, agentId, row ?? NEVER_SET);
  }

  /** @throws Fault 409 `worker_config.changed` where another one is in force than the caller has seen. */
  async put(ctx: OpContext, input: In<typeof putWorkerConfig>): Promise<View> {
    const { ops, action_rules: sent, note = null, base_version, base_revision } = input;
    const agentId = await this.agents.lock(ctx, input.agent_id);
    const before = await findConfig(ctx, agentId);
    if (typeof base_version === 'string' && base_version !== before.version) throw WorkerConfigChanged();
    if (typeof base_revision === 'number' && base_revision !== before.revision) throw WorkerConfigChanged();
    const rules = sent ? { ...sent, version: undefined } : null;
    const next = { ...{ ops, rules, note }, ...versionsOf({ ops, rules }), revision: before.revision + 1 };
    const isSame = saysTheSame(before, next);
    const isDryRun = input.dry_run === 'true' || input.dry_run === '1';
    const shown = { ...next, revision: isSame ? before.revision : next.revision, created_at: null, created_by: null };
    const after = isDryRun ? shown : isSame ? before : await addConfig(ctx, agentId, next);
    const restarts = before.version !== after.version;
    ctx.note({ agent_id: agentId, dry_run: isDryRun, before: partsOf(before), after: partsOf(after) });
    if (!isDryRun && !isSame)
      ctx.afterCommit(() => this.bus.poke('agent.configured', accountKey(ctx.actor.accountId, agentId)));
    return { ...(await this.view(ctx, agentId, after)), restarts_workers: restarts };
  }

  async list(ctx: OpContext, query: In<typeof listWorkerConfigs>): Promise<Out<typeof listWorkerConfigs>> {
    const agentId = await this.agents.require(ctx, query.agent_id);
    const rows = await listConfigs(ctx, agentId, { before: revisionOf(query.cursor), limit: query.limit });
    const last = rows.at(-1);
    if (last && rows.length === query.limit) ctx.header('x-next-cursor', String(last.revision));
    return rows.map((row) => ({ ...row, created_at: wireTime(row.created_at) }));
  }

  /** For a worker of the agent. */
  async bundle(ctx: OpContext, agentId: string): Promise<Bundle> {
    const row = await findConfig(ctx, agentId);
    if (row.revision === 0) return { version: '' };
    const { ops, rules, ...versions } = row;
    return {
      ...partsOf(versions),
      ops: opsForWorkers(ops),
      action_rules: rulesAs(row.action_rules_version, rules),
    };
  }

  /** What the rules in force say to a worker that asks because of one. */
  async governing(
    ctx: OpContext,
    agentId: string,
    question: { readonly ruleId: string; readonly toolName: string },
  ): Promise<Governing> {
    const { rules, revision } = await findConfig(ctx, agentId);
    const wasOurs = revision > 0 && (await hadRule(ctx, agentId, question.ruleId));
    return governing(rules, { ...question, wasOurs });
  }

  private async view(ctx: OpContext, agentId: string, row: ConfigRow): Promise<View> {
    const workers = await configuredWorkers(ctx, agentId);
    return {
      agent_id: agentId,
      revision: row.revision,
      ...partsOf(row),
      ops: [...row.ops],
      action_rules: rulesAs(row.action_rules_version, row.rules),
      note: row.note,
      created_at: row.created_at && wireTime(row.created_at),
      created_by: row.created_by,
      restarts_workers: workers.some(({ applied_version: applied }) => applied !== null && applied !== row.version),
      workers: workers.map((worker) => ({ ...worker, unsupported_ops: [...worker.unsupported_ops] })),
    };
  }
}

function partsOf({ version, skills_version, action_rules_version }: ConfigVersions): ConfigVersions {
  return { version, skills_version, action_rules_version };
}

function saysTheSame(before: ConfigRow, next: Pick<ConfigRow, 'ops' | 'rules' | 'note'>): boolean {
  if (before.revision === 0 && next.ops.length === 0 && next.rules === null && next.note === null) return true;
  const plain = ({ ops, rules, note }: Pick<ConfigRow, 'ops' | 'rules' | 'note'>): unknown =>
    JSON.parse(JSON.stringify([ops, rules, note]));
  return before.revision > 0 && isDeepStrictEqual(plain(before), plain(next));
}

/** @throws Fault 422 for a cursor that this list has not made. */
function revisionOf(cursor: string | undefined): number | null {
  if (cursor === undefined) return null;
  if (!/^[1-9]\d{0,8}$/.test(cursor)) throw invalid(['query', 'cursor'], 'is not a cursor of this list');
  return Number(cursor);
}
