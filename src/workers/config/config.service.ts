import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { WorkerConfigs } from '../../agents/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { splitAccountKey } from '../../platform/bus/keys.ts';
import { Clock, wireTime } from '../../platform/clock/clock.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Channels } from '../channel/channel.service.ts';
import { Presence } from '../presence/presence.service.ts';
import type { acknowledgeConfig, requestConfig } from './config.contract.ts';
import { changedFrame, hearsOfConfig, tokenOf } from './config.policy.ts';
import { noteConfig, outdatedWorkers, type OutdatedWorker } from './config.store.ts';

/** A new channel may be there before its process has registered, and the row then speaks of the one before it. */
const REGISTERS_WITHIN_MS = 1_000;

/**
 * Hands workers their configuration, and tells those that hold an older one that there is another: once on each channel, as a
 * hint. A worker whose channel is closed learns it from its next job.
 */
@Injectable()
export class WorkerConfigFrames implements OnModuleInit {
  private readonly log = new Log('config');

  constructor(
    @Inject(WorkerConfigs) private readonly configs: WorkerConfigs,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Bus) private readonly bus: Bus,
  ) {}

  onModuleInit(): void {
    this.bus.on('agent.configured', (key) => {
      const [accountId, agentId] = splitAccountKey(key);
      if (this.channels.hasAny(accountId, agentId)) void this.tellOf(accountId, { agentId });
    });
    this.channels.onOpened((accountId, _agentId, workerId) => {
      if (!this.channels.at(accountId, workerId)?.hasOrders) return;
      setTimeout(() => void this.tellOf(accountId, { workerId }), REGISTERS_WITHIN_MS).unref();
    });
  }

  async hand(ctx: OpContext, { worker_id: workerId }: In<typeof requestConfig>): Promise<Out<typeof requestConfig>> {
    this.presence.heard(ctx.actor, workerId, 'frame');
    const bundle = await this.configs.bundle(ctx, ctx.actor.id);
    const { version } = bundle;
    const [skills, rules] = 'ops' in bundle ? [bundle.skills_version, bundle.action_rules_version] : ['', ''];
    await noteConfig(ctx, workerId, { handed: [version, skills, rules] });
    if (!('ops' in bundle)) return { config: bundle };
    return {
      config: { ...bundle, ops: bundle.ops.map((op) => ({ ...op })), action_rules: { ...bundle.action_rules } },
    };
  }

  async taken(ctx: OpContext, input: In<typeof acknowledgeConfig>): Promise<void> {
    this.presence.heard(ctx.actor, input.worker_id, 'frame');
    await noteConfig(ctx, input.worker_id, {
      applied_version: input.version,
      unsupported_ops: input.unsupported_ops ?? [],
      acked_at: wireTime(ctx.now),
    });
  }

  /** Tells those of these workers whose channel is here, and that do not know it on this channel. */
  tell(workers: readonly OutdatedWorker[]): void {
    for (const worker of workers) {
      const channel = this.channels.at(worker.account_id, worker.worker_id);
      if (channel?.agentId !== worker.agent_id || !hearsOfConfig(worker)) continue;
      const frame = () => changedFrame(newId('message', this.clock.nowMs()), worker);
      this.channels.tellOnce(channel, tokenOf(worker), frame);
    }
  }

  private async tellOf(
    accountId: string,
    which: { readonly agentId: string } | { readonly workerId: string },
  ): Promise<void> {
    try {
      this.tell(await outdatedWorkers(this.database, accountId, which));
    } catch (error) {
      this.log.warn('workers were not told of their configuration; the sweep does', { error: describeError(error) });
    }
  }
}
