import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { invariant } from '../../platform/faults/faults.ts';
import type { JsonObject } from '../../platform/json/json.ts';
import type { InputProblem } from '../../platform/json/problems.ts';
import { LongList } from '../../platform/operation/long-list.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { followSkills } from '../skills/skills.store.ts';
import { takeGeneration } from '../versions/versions.store.ts';
import { agentView, type Instance } from './agent-view.policy.ts';
import { InputChecks } from './input-checks.service.ts';
import { fingerprintOf, manifestHash, readManifest, type ManifestFacts } from './manifest.policy.ts';
import type { getAgent, listAgents } from './registry.contract.ts';
import { AgentNotFound, WrongAgent } from './registry.faults.ts';
import {
  agentRowsById,
  eachAgentRow,
  findAgentId,
  findForWork,
  followManifest,
  lockAgentRow,
  recallManifest,
  showAgentRow,
  type AgentRow,
  type ListedAgent,
} from './registry.store.ts';

/** Signs of life that this replica has heard and not written yet. Provided by workers. */
export abstract class UnwrittenPresence {
  /** Resolves when everything that was heard before the call is in the rows. */
  abstract flush(): Promise<void>;
}

/** What decides whether a worker is there. Its times are the database's. */
export interface PresenceSigns {
  readonly now: Date;
  readonly hearing_since: Date;
  readonly last_seen_at: Date;
  readonly channel_opened_at: Date | null;
  readonly channel_closed_at: Date | null;
  readonly channel_closed_by: 'worker' | 'us' | 'unknown' | null;
  readonly unacked_since: Date | null;
  readonly silent_limit_seconds: number | null;
  readonly window_seconds: number | null;
}

/** The one rule by which workers are there or not. Provided by workers. */
export abstract class PresenceRule {
  /** When a worker is offline unless it is heard before: its window is over, or it is lost. */
  abstract offlineAt(signs: PresenceSigns, isRunning: boolean): Date;
}

/** What a worker says about its agent. */
export interface Registration {
  readonly manifest: JsonObject;
  /** Undefined: unchanged. */
  readonly skills: readonly unknown[] | undefined;
  readonly skillsHash: string;
  /** Who says it. */
  readonly workerId: string;
}

/** The same, read, and its schema tried. */
export interface ReadRegistration extends Registration {
  readonly facts: ManifestFacts;
  readonly hash: Buffer;
  readonly schemaError: string | null;
}

export interface Registered {
  readonly agentId: string;
  readonly generation: number;
  /** False when the newest registration of the agent said the same; then nothing was written. */
  readonly changed: boolean;
}

type AgentView = Out<typeof getAgent>;

/** What can run: agents, as their workers describe them. */
@Injectable()
export class AgentRegistry {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(InputChecks) private readonly checks: InputChecks,
    @Inject(UnwrittenPresence) private readonly unwritten: UnwrittenPresence,
    @Inject(PresenceRule) private readonly presence: PresenceRule,
  ) {}

  /** There may be ten thousand: each is shown as its row comes, and none is kept. */
  async list(ctx: OpContext, { include_archived }: In<typeof listAgents>): Promise<Out<typeof listAgents>> {
    await this.unwritten.flush();
    return new LongList((take) => eachAgentRow(ctx, include_archived, (agent) => take(this.viewOf(agent))));
  }

  /** Agents as lists show them, by id. What this replica has heard of workers and not written yet may be missing. */
  async views(ctx: OpContext, ids: readonly string[]): Promise<ReadonlyMap<string, AgentView>> {
    const agents = await agentRowsById(ctx, ctx.actor.accountId, ids);
    return new Map(agents.map((agent) => [agent.id, this.viewOf(agent)]));
  }

  async show(ctx: OpContext, { agent_id }: In<typeof getAgent>): Promise<Out<typeof getAgent>> {
    await this.unwritten.flush();
    const agent = await showAgentRow(ctx, ctx.actor.accountId, agent_id);
    if (!agent) throw AgentNotFound();
    return this.viewOf(agent);
  }

  /** How many workers that are online run each generation of an agent. */
  async liveWorkers(ctx: OpContext, agentId: string): Promise<ReadonlyMap<number | null, number>> {
    await this.unwritten.flush();
    const agent = await showAgentRow(ctx, ctx.actor.accountId, agentId);
    const online = (agent ? this.instancesOf(agent) : []).filter(({ is_online }) => is_online);
    const byGeneration = Map.groupBy(online, ({ generation }) => generation);
    return new Map([...byGeneration].map(([generation, workers]) => [generation, workers.length]));
  }

  /**
   * For whoever gives it work, in that transaction: as long as `closedTo` says nothing against it, no archive is answered
   * before the transaction is over.
   * @throws Fault 404 `agent.not_found`.
   */
  async find(ctx: OpContext, ref: string): Promise<AgentRow> {
    const agent = await findForWork(ctx, ctx.actor.accountId, ref);
    if (!agent) throw AgentNotFound();
    return agent;
  }

  /** The id behind an id or a handle; undefined where there is no such agent. */
  async idOf(ctx: OpContext, ref: string): Promise<string | undefined> {
    return findAgentId(ctx, ctx.actor.accountId, ref);
  }

  /** The id behind an id or a handle. @throws Fault 404 `agent.not_found`. */
  async require(ctx: OpContext, ref: string): Promise<string> {
    const id = await this.idOf(ctx, ref);
    if (id === undefined) throw AgentNotFound();
    return id;
  }

  /**
   * As `require`; until the end of the transaction nobody else changes what is decided about the agent. What is read in
   * statements after this one is what the holder before has left.
   * @throws Fault 404 `agent.not_found`.
   */
  async lock(ctx: OpContext, ref: string): Promise<string> {
    const id = await lockAgentRow(ctx, ctx.actor.accountId, ref);
    if (id === undefined) throw AgentNotFound();
    return id;
  }

  /** What of an input does not fit the agent's schema: empty if all does, and where the schema checks nothing. */
  async checkInput(agent: AgentRow, input: unknown): Promise<readonly InputProblem[]> {
    return agent.input_schema_error === null ? this.checks.problemsOf(agent.input_schema, input) : [];
  }

  /** Reads what a worker says. Belongs before the transaction: an unusual schema may take seconds to compile. */
  async read(said: Registration): Promise<ReadRegistration> {
    const facts = readManifest(said.manifest);
    const schemaError = await this.checks.errorIn(facts.inputSchema);
    return { ...said, facts, hash: manifestHash(said.manifest, said.skillsHash), schemaError };
  }

  /**
   * Makes the agent of the caller's token what a manifest says. The token decides which agent that is; the name in the
   * manifest may be anything but that of another agent.
   * @throws Fault 403 `worker.wrong_agent`.
   */
  async register(ctx: OpContext, registration: ReadRegistration): Promise<Registered> {
    const { kind, id: agentId, agentHandle } = ctx.actor;
    invariant(kind === 'agent' && agentHandle !== undefined, 'only a worker token registers');
    const { facts, hash, schemaError, manifest, skillsHash } = registration;
    const { generation: known, names_another: namesAnother } = await recallManifest(ctx, hash, facts.claimedName);
    if (namesAnother) throw WrongAgent({ message: `This token does not speak for ${facts.claimedName}` });
    if (known !== null) return { agentId, generation: known, changed: false };
    await followManifest(ctx, facts, hash, schemaError);
    const generation = await takeGeneration(ctx, fingerprintOf(manifest, skillsHash), registration);
    await followSkills(ctx, agentId, generation);
    return { agentId, generation, changed: true };
  }
  private viewOf(agent: ListedAgent): AgentView {
    return agentView(agent, this.instancesOf(agent), this.config.presenceWindowSeconds);
  }

  private instancesOf({ instances }: ListedAgent): Instance[] {
    return instances.map((row) => {
      const offlineAt = this.presence.offlineAt(row, row.run_started_at !== null);
      return Object.assign(row, { offline_at: offlineAt, is_online: offlineAt > row.now }); // no copy: there may be many
    });
  }
}
