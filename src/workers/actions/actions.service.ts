import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey, splitAccountKey } from '../../platform/bus/keys.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Channels } from '../channel/channel.service.ts';
import { WorkerNotFound } from '../fleet/fleet.contract.ts';
import { Presence } from '../presence/presence.service.ts';
import type { acknowledgeAction, actOnWorker, listWorkerActions } from './actions.contract.ts';
import { ActionUnsupported, NoChannel } from './actions.faults.ts';
import { askedBy, canBeTold, frameOf, modeAfter, type ToldAction } from './actions.policy.ts';
import {
  closeHealthChecks,
  closePing,
  declineAction,
  insertAction,
  listActionRows,
  noteAcknowledged,
  ordersOf,
  setMode,
  targetRow,
  type ActionRow,
  type TargetRow,
} from './actions.store.ts';

const DETAIL_LENGTH = 2_000;

/**
 * What operators ask of one worker. Modes change what is handed out, here, and are done at once. Everything else goes down
 * the worker's channel: the row is the truth, whichever replica took the request; the one that holds the channel is poked,
 * reads the row and sends, once on each channel, until the worker has answered or the time is over.
 */
@Injectable()
export class WorkerActions implements OnModuleInit {
  private readonly log = new Log('actions');

  constructor(
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Database) private readonly database: Database,
    @Inject(Bus) private readonly bus: Bus,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  onModuleInit(): void {
    this.bus.on('worker.told', (key) => void this.tell(...splitAccountKey(key)));
    this.channels.onOpened((accountId, _agentId, workerId) => {
      if (this.channels.at(accountId, workerId)?.hasOrders) void this.tell(accountId, workerId);
    });
    this.channels.onPong((ctx, workerId, nonce) => this.answered(ctx, workerId, nonce));
  }

  /** @throws Fault 404; 409 `worker.action_unsupported` and `worker.no_channel` for what the worker must be told. */
  async act(ctx: OpContext, input: In<typeof actOnWorker>): Promise<Out<typeof actOnWorker>> {
    const { worker_id: workerId, action, params = {} } = input;
    const reason = input.reason ?? null;
    const { accountId } = ctx.actor;
    const target = await targetRow(ctx, workerId);
    if (!target) throw WorkerNotFound();
    const mode = modeAfter(action);
    if (!mode) this.assertReachable(accountId, workerId, target, action as ToldAction);
    const id = newId('workerAction', ctx.now.getTime());
    ctx.note({ action_id: id, action, reason });
    if (mode) await setMode(ctx, workerId, mode, reason);
    const isDone = mode !== undefined;
    const [row] = await insertAction(ctx, { id, workerId, agentId: target.agent_id, action, params, reason, isDone });
    if (!row) throw WorkerNotFound();
    ctx.afterCommit(() => {
      this.bus.poke('worker.told', accountKey(accountId, workerId));
      if (action === 'resume') this.bus.poke('agent.work', accountKey(accountId, target.agent_id));
    });
    return actionView(row);
  }

  async list(ctx: OpContext, input: In<typeof listWorkerActions>): Promise<Out<typeof listWorkerActions>> {
    const { worker_id: workerId, limit, cursor } = input;
    if (!(await targetRow(ctx, workerId))) throw WorkerNotFound();
    const rows = await listActionRows(ctx, workerId, { after: placeOf(cursor), limit });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', cursorOf(last));
    return rows.map(actionView);
  }

  async acknowledge(ctx: OpContext, input: In<typeof acknowledgeAction>): Promise<void> {
    const { worker_id: workerId, action_id: actionId, accepted, detail } = input;
    this.presence.heard(ctx.actor, workerId, 'frame');
    const answer = { actionId, accepted, detail: textOf(detail) };
    if (!(await noteAcknowledged(ctx, workerId, answer))) return;
    ctx.afterCommit(() => this.bus.poke('worker.told', accountKey(ctx.actor.accountId, workerId)));
  }

  async healthReported(ctx: OpContext, workerId: string, ok: boolean, detail: string | null): Promise<void> {
    await closeHealthChecks(ctx, workerId, ok ? detail : `not well: ${detail ?? 'it does not say why'}`);
  }

  /** The worker could not take a frame. Only one that carried an action is of interest. */
  async refused(ctx: OpContext, workerId: string, why: string): Promise<void> {
    const answered = ctx.frame?.correlationId;
    if (answered !== undefined)
      await declineAction(ctx, workerId, answered, why.slice(0, DETAIL_LENGTH).toWellFormed());
  }

  /** Sends what the worker is still to be told on its channel, if it hangs here: each action once on each channel. */
  async tell(accountId: string, workerId: string): Promise<void> {
    const channel = this.channels.at(accountId, workerId);
    if (!channel) return;
    try {
      const orders = await ordersOf(this.database, channel, this.config.actionSeconds);
      if (!orders) return;
      const wasSpared = channel.mode !== 'normal';
      channel.mode = orders.mode;
      channel.dialect = orders.dialect;
      if (wasSpared && orders.mode === 'normal') this.channels.ring(accountId, channel.agentId, 1); // runs may have waited for it
      for (const action of orders.actions) this.channels.tellOnce(channel, action.id, () => frameOf(action));
    } catch (error) {
      this.log.warn('a worker was not told; the sweep does', { error: describeError(error) });
    }
  }

  private async answered(ctx: OpContext, workerId: string, nonce: string): Promise<void> {
    const asked = askedBy(nonce);
    if (asked) await ctx.briefly((inner) => closePing(inner, workerId, asked));
  }

  private assertReachable(accountId: string, workerId: string, target: TargetRow, action: ToldAction): void {
    if (!canBeTold(action, target)) throw ActionUnsupported();
    if (!target.has_channel && !this.channels.at(accountId, workerId)) throw NoChannel();
  }
}

function actionView(row: ActionRow): Out<typeof actOnWorker> {
  const { id, worker_id, action, state, detail, created_by, reason } = row;
  return {
    action_id: id,
    ...{ worker_id, action, state, detail, created_by, reason },
    created_at: wireTime(row.created_at),
    acked_at: row.acked_at && wireTime(row.acked_at),
    done_at: row.done_at && wireTime(row.done_at),
  };
}

function textOf(detail: string | null | undefined): string | null {
  return detail?.slice(0, DETAIL_LENGTH).toWellFormed() ?? null;
}
