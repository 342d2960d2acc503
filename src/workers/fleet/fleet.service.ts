import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { WorkerTokenRevoked } from '../../identity/index.ts';
import { Bus } from '../../platform/bus/bus.ts';
import { accountKey } from '../../platform/bus/keys.ts';
import { wireTime } from '../../platform/clock/clock.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { Database } from '../../platform/db/database.ts';
import { cursorOf, placeOf } from '../../platform/operation/cursor.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { Outbox } from '../../platform/outbox/outbox.ts';
import { Presence, type Speaker } from '../presence/presence.service.ts';
import { WorkerNotFound, WorkerOnline, type forgetWorker, type getWorker, type listWorkers } from './fleet.contract.ts';
import {
  announceDrainingRow,
  forgetWorkerRow,
  listWorkerRows,
  markRevoked,
  showWorkerRow,
  workerRowsById,
  type WorkerDetailRow,
} from './fleet.store.ts';
import { signLimits, type SignLimits } from './signs.policy.ts';
import { workerDetail, workerView } from './worker-view.policy.ts';

const MOST_ROWS = 500;

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
    const found: Out<typeof listWorkers> = [];
    // Whether a worker is online is computed, so with a filter for it pages are read until one is full.
    for (let after = placeOf(cursor); ;) {
      const rows = await listWorkerRows(ctx, { agent, text, after, limit: state ? MOST_ROWS : limit });
      for (const row of rows) {
        const view = workerView(row, this.limits);
        if (state && view.state !== state) continue;
        found.push(view);
        if (found.length < limit) continue;
        ctx.header('x-next-cursor', cursorOf({ micros: row.first_seen, id: row.id }));
        return found;
      }
      const last = rows.at(-1);
      if (!state || !last || rows.length < MOST_ROWS) return found;
      after = { micros: last.first_seen, id: last.id };
    }
  }

  /** Workers as lists show them, by id. What this replica has heard and not written yet may be missing. */
  async views(ctx: OpContext, ids: readonly string[]): Promise<ReadonlyMap<string, Out<typeof listWorkers>[number]>> {
    return new Map((await workerRowsById(ctx, ids)).map((row) => [row.id, workerView(row, this.limits)]));
  }

  async show(ctx: OpContext, { worker_id }: In<typeof getWorker>): Promise<Out<typeof getWorker>> {
    return workerDetail(await this.find(ctx, worker_id), this.limits);
  }

  /** @throws Fault 404; 409 `worker.online` while it is not offline, or holds a run. */
  async forget(ctx: OpContext, { worker_id }: In<typeof forgetWorker>): Promise<void> {
    const row = await this.find(ctx, worker_id);
    ctx.note({ agent_id: row.agent_id, last_seen_at: wireTime(row.last_seen_at) });
    if (workerView(row, this.limits).state === 'online') throw WorkerOnline();
    if (row.runs.length > 0) throw WorkerOnline({ message: 'The worker is offline, but still holds a run' });
    if (!(await forgetWorkerRow(ctx, row))) throw WorkerOnline({ message: 'The worker was heard again' });
  }

  /** The worker that speaks says that it leaves: from now on it gets no work. Takes a transaction of its own; may be repeated. */
  async announceDraining(speaker: Speaker, workerId: string): Promise<void> {
    if (!(await announceDrainingRow(this.database, speaker, workerId))) return;
    this.bus.poke('worker.told', accountKey(speaker.accountId, workerId));
  }

  private async find(ctx: OpContext, workerId: string): Promise<WorkerDetailRow> {
    await this.presence.flush();
    const row = await showWorkerRow(ctx, workerId);
    if (!row) throw WorkerNotFound();
    return row;
  }

  private get limits(): SignLimits {
    return signLimits(this.config);
  }
}
