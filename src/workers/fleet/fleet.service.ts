import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { WorkerTokenRevoked } from '../../identity/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Outbox } from '../../platform/outbox/outbox.ts';
import { Presence, type Speaker } from '../presence/presence.service.ts';
import { WorkerNotFound, type getWorker, type listWorkers } from './fleet.contract.ts';
import { announceDrainingRow, listWorkerRows, markRevoked, showWorkerRow } from './fleet.store.ts';
import { workerDetail, workerView } from './worker-view.policy.ts';
import type { Windows } from './lights.policy.ts';

/** The machines, as operators see them. */
@Injectable()
export class Fleet implements OnModuleInit {
  constructor(
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Presence) private readonly presence: Presence,
    @Inject(Outbox) private readonly outbox: Outbox,
    @Inject(Database) private readonly database: Database,
    @Inject(Bus) private readonly bus: Bus,
  ) {}

  onModuleInit(): void {
    this.outbox.subscribe(WorkerTokenRevoked.topic, ({ accountId }) => markRevoked(this.database, accountId));
  }

  async list(ctx: OpContext, query: In<typeof listWorkers>): Promise<Out<typeof listWorkers>> {
    const { agent_id: agent, state, q: text, limit, cursor } = query;
    await this.presence.flush();
    const filter = { agent, state, text, limit, windowSeconds: this.config.presenceWindowSeconds };
    const rows = await listWorkerRows(ctx, { ...filter, after: placeOf(cursor) });
    const last = rows.at(-1);
    if (last && rows.length === limit) ctx.header('x-next-cursor', cursorOf({ micros: last.first_seen, id: last.id }));
    return rows.map((row) => workerView(row, this.windows));
  }

  async show(ctx: OpContext, { worker_id }: In<typeof getWorker>): Promise<Out<typeof getWorker>> {
    await this.presence.flush();
    const row = await showWorkerRow(ctx, worker_id);
    if (!row) throw WorkerNotFound();
    return workerDetail(row, this.windows);
  }

  /** The worker that speaks says that it leaves: from now on it gets no work. Takes a transaction of its own; may be repeated. */
  async announceDraining(speaker: Speaker, workerId: string): Promise<void> {
    if (!(await announceDrainingRow(this.database, speaker, workerId))) return;
    this.bus.poke('worker.told', accountKey(speaker.accountId, workerId));
  }

  private get windows(): Windows {
    const { presenceWindowSeconds, claimWindowSeconds, channelPingSeconds } = this.config;
    return {
      presenceSeconds: presenceWindowSeconds,
      claimSeconds: claimWindowSeconds,
      pingSeconds: channelPingSeconds,
    };
  }
}
