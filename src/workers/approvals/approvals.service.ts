import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Approvals } from '../../gateway/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { splitAccountKey } from '../../platform/bus/keys.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids/ids.ts';
import { assertFlat } from '../../platform/operation/depth.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle, RunNotFound, type RunRow } from '../../runs/index.ts';
import { Channels } from '../channel/channel.service.ts';
import { Presence } from '../presence/presence.service.ts';
import { answerOf, decidedFrame, unregistered } from './answer.policy.ts';
import type { requestApproval } from './approvals.contract.ts';
import { untold } from './approvals.store.ts';

/**
 * Workers ask whether a tool call may be made, and are told what was decided: once on each channel, until they ask again or
 * their attempt is over. The register is the truth; whoever was not told hears it at the next question.
 */
@Injectable()
export class WorkerApprovals implements OnModuleInit {
  private readonly log = new Log('approvals');

  constructor(
    @Inject(Approvals) private readonly approvals: Approvals,
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.bus.on('approval.changed', (key) => {
      const [accountId, approvalId] = splitAccountKey(key);
      void this.tell(accountId, { approvalId });
    });
    this.channels.onOpened((accountId, _agentId, workerId) => {
      if (this.channels.at(accountId, workerId)?.hasOrders) void this.tell(accountId, { workerId });
    });
  }

  /** @throws Fault 404 `run.not_found`, also for the run of another agent. */
  async ask(ctx: OpContext, question: In<typeof requestApproval>): Promise<Out<typeof requestApproval>> {
    const { worker_id: workerId, run_id: runId } = question;
    this.presence.heard(ctx.actor, workerId, 'frame');
    assertFlat(this.config.jsonDepthLimit, { arguments: question.arguments });
    const run = await this.runs.find(ctx, runId);
    if (run.agent_id !== ctx.actor.id) throw RunNotFound();
    if (!isHeldBy(run, workerId)) return unregistered('withdrawn');
    if (run.input['act'] === false) return unregistered('declined_act_off');
    const asked = await this.approvals.ask(ctx, {
      agentId: run.agent_id,
      ...{ runId, attempt: run.attempt, workerId },
      toolUseId: question.tool_use_id,
      toolName: question.tool_name,
      ruleId: question.rule_id,
      ruleName: question.rule_name ?? null,
      arguments: question.arguments ?? null,
      askedBy: question.asked_by ?? null,
      windowSeconds: question.window_seconds ?? null,
    });
    return answerOf(asked);
  }

  /** Sends the word about one question, or everything that a worker is still to be told, where its channel is here. */
  async tell(accountId: string, which: { readonly approvalId: string } | { readonly workerId: string }): Promise<void> {
    try {
      const sent: string[] = [];
      for (const row of await untold(this.database, accountId, which)) {
        const channel = this.channels.at(accountId, row.worker_id);
        if (channel?.agentId !== row.agent_id) continue;
        const frame = () => decidedFrame(newId('message', this.clock.nowMs()), row);
        if (this.channels.tellOnce(channel, row.id, frame)) sent.push(row.id);
      }
      if (sent.length > 0) await this.approvals.delivered(accountId, sent);
    } catch (error) {
      this.log.warn('a worker was not told what was decided; the sweep does', { error: describeError(error) });
    }
  }
}

function isHeldBy({ worker_id, status }: RunRow, workerId: string): boolean {
  return worker_id === workerId && (status === 'claimed' || status === 'running');
}
