import { Inject, Injectable } from '@nestjs/common';
import { AgentRegistry, type ReadRegistration } from '../../agents/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Fault, InputInvalid, invalid } from '../../platform/faults/faults.ts';
import { depthOf, problemsOf, type AlteredPlace, type JsonObject } from '../../platform/json/json.ts';
import { isUnder } from '../../platform/json/path.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { WorkerActions } from '../actions/actions.service.ts';
import { Manners } from '../presence/manners.service.ts';
import { Presence } from '../presence/presence.service.ts';
import { offersOf } from './dialect.policy.ts';
import { endpointOf } from './endpoint.policy.ts';
import {
  WorkerIdTaken,
  type heartbeat,
  type keepAlive,
  type ping,
  type registerWorker,
  type reportHealth,
  type reportRefusal,
} from './registration.contract.ts';
import { noteHealth, noteRefusal, registerWorkerRow } from './registration.store.ts';
import { saidIn, type Said } from './said.policy.ts';

/** These stand in paths where a worker's id would stand. */
const RESERVED = ['secrets', 'slack-subscriptions', 'integrations'];
/** The SDK says in its message which frame it could not take. */
const REFUSED_TYPE = /frame type '([^']{1,100})'/;
const DETAIL_LENGTH = 2_000;
const ADDRESS = 'endpoint_url';

/** How workers come in, and how they say that they are there. */
@Injectable()
export class WorkerRegistration {
  constructor(
    @Inject(AgentRegistry) private readonly agents: AgentRegistry,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(WorkerActions) private readonly actions: WorkerActions,
    @Inject(Manners) private readonly manners: Manners,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async register(ctx: OpContext, input: In<typeof registerWorker>): Promise<Out<typeof registerWorker>> {
    return this.takeIn(ctx, saidIn(input));
  }

  /**
   * The token decides the agent. A worker id belongs to the agent that registered it first, until it is forgotten.
   * @throws Fault 403 `worker.wrong_agent` or `worker.id_taken`; 422 for what cannot be kept. Each is on record.
   */
  async takeIn(ctx: OpContext, said: Said): Promise<Out<typeof registerWorker>> {
    try {
      const read = await this.read(ctx, said);
      return await ctx.briefly((inner) => this.admit(inner, said, read));
    } catch (error) {
      if (error instanceof Fault && error.type.kind !== 'unavailable') {
        await ctx.briefly(async (inner) => recordRegistration(inner, said, 'refused', { code: error.code }));
      }
      throw error;
    }
  }

  async heartbeat(ctx: OpContext, { worker_id }: In<typeof heartbeat>): Promise<Out<typeof heartbeat>> {
    this.presence.heard(ctx.actor, worker_id, 'heartbeat');
    return stateOf(ctx.actor.id, worker_id, ctx.now);
  }

  async keepAlive(ctx: OpContext, { worker_id }: In<typeof keepAlive>): Promise<void> {
    this.presence.heard(ctx.actor, worker_id, 'frame');
  }

  async ping(ctx: OpContext, { worker_id, nonce, sent_at }: In<typeof ping>): Promise<Out<typeof ping>> {
    this.presence.heard(ctx.actor, worker_id, 'frame');
    return { nonce, ...(sent_at ? { ping_sent_at: sent_at } : {}), sent_at: wireTime(ctx.now) };
  }

  async health(ctx: OpContext, { worker_id, ok, detail }: In<typeof reportHealth>): Promise<void> {
    this.presence.heard(ctx.actor, worker_id, 'frame');
    const text = detail?.slice(0, DETAIL_LENGTH).toWellFormed() ?? null;
    await noteHealth(ctx, worker_id, { ok, detail: text, at: wireTime(ctx.now) });
    await this.actions.healthReported(ctx, worker_id, ok, text);
  }

  async refusal(ctx: OpContext, { worker_id, code, message }: In<typeof reportRefusal>): Promise<void> {
    this.presence.heard(ctx.actor, worker_id, 'frame');
    const [, type = 'unknown'] = REFUSED_TYPE.exec(message ?? '') ?? [];
    await noteRefusal(ctx, worker_id, { at: wireTime(ctx.now), type, code });
    await this.actions.refused(ctx, worker_id, message ? `${code}: ${message}` : code);
  }

  /**
   * Text is kept as it was sent or not at all. A number that no double holds is kept as text: no reason to end a worker. Nor is
   * the address that it offers, whatever stands there.
   */
  private async read(ctx: OpContext, { workerId, at, manifest, skills, skillsHash }: Said): Promise<ReadRegistration> {
    if (RESERVED.includes(workerId)) throw invalid(['path', 'worker_id'], 'is reserved');
    const isBroken = ({ path, flaw }: AlteredPlace): boolean =>
      flaw !== 'number_inexact' && !isUnder(path, [at, ADDRESS]);
    const broken = ctx.altered.filter(isBroken);
    if (broken.length > 0) throw InputInvalid({ problems: problemsOf(broken) });
    const { [ADDRESS]: _, ...rest } = manifest;
    const limit = this.config.jsonDepthLimit;
    if (depthOf(rest) > limit) throw invalid(['body', at], `is nested deeper than ${limit} levels`);
    return this.agents.read({ workerId, manifest, skills, skillsHash });
  }

  private async admit(ctx: OpContext, said: Said, read: ReadRegistration): Promise<Out<typeof registerWorker>> {
    const { workerId, manifest, slots, dialect } = said;
    const { accountId, id: agentId, agentHandle } = ctx.actor;
    const { generation, changed } = await this.agents.register(ctx, read);
    const { claimedName } = read.facts;
    const claimedHandle = [agentHandle, agentId, ''].includes(claimedName) ? null : claimedName;
    const registered = await registerWorkerRow(ctx, {
      ...said,
      claimedHandle,
      generation,
      sdkVersion: typeof manifest['sdk_version'] === 'string' ? manifest['sdk_version'] : null,
      offers: offersOf(manifest),
      endpointUrl: endpointOf(manifest),
      windowSeconds: dialect === '0.1' ? this.config.heartbeatWindowSeconds : null,
    });
    if (!registered) throw WorkerIdTaken();
    if (changed)
      recordRegistration(ctx, said, 'done', { agent_id: agentId, generation, claimed_handle: claimedHandle });
    ctx.afterCommit(() => {
      this.presence.noteSlots(accountId, workerId, slots);
      this.manners.note(accountId, workerId, dialect);
      if (registered.tookOver) this.bus.poke('channel.opened', accountKey(accountId, workerId));
      if (registered.isSpokenToAnew) this.bus.poke('worker.told', accountKey(accountId, workerId));
    });
    return stateOf(agentId, workerId, registered.lastSeenAt);
  }
}

function recordRegistration(ctx: OpContext, { workerId }: Said, outcome: 'done' | 'refused', detail: JsonObject): void {
  ctx.record({ action: 'worker.register', target: ['worker', workerId], outcome, detail });
}

function stateOf(agentId: string, workerId: string, lastHeardAt: Date): Out<typeof heartbeat> {
  return { agent_id: agentId, worker_id: workerId, status: 'online', last_heartbeat_at: wireTime(lastHeardAt) };
}
