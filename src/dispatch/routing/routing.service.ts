import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { Bus } from '../../platform/bus/bus.ts';
import { splitAccountKey } from '../../platform/bus/keys.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids/ids.ts';
import { Clock } from '../../platform/clock/clock.ts';
import { Log, describeError } from '../../platform/log/log.ts';
import { unansweredCancels } from '../../runs/index.ts';
import { Channels } from '../../workers/index.ts';
import { CANCEL_HOLDER, QUEUED_OF, type CancelHolder } from './routing.store.ts';

/**
 * Tells workers through their channels that there is something to do: a doorbell when runs are queued, a cancel for a run
 * they hold. Both are hints: the claim is the assignment, and the poll of every SDK finds work without a doorbell.
 */
@Injectable()
export class Routing implements OnModuleInit {
  private readonly log = new Log('routing');

  constructor(
    @Inject(Bus) private readonly bus: Bus,
    @Inject(Channels) private readonly channels: Channels,
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    this.bus.on('agent.work', (key) => this.channels.ring(...splitAccountKey(key), 1));
    this.bus.on('run.cancelled', (key) =>
      this.safely('a cancel was not passed on', this.passCancel(...splitAccountKey(key))),
    );
    this.channels.onOpened((accountId, agentId, workerId) =>
      this.safely('a new channel was not greeted', this.greet(accountId, agentId, workerId)),
    );
  }

  /** Pending cancels are repeated and a doorbell follows a new channel: both may have been rung while there was none. */
  private async greet(accountId: string, agentId: string, workerId: string): Promise<void> {
    const { cancels, queued } = await this.database.asAccount(
      accountId,
      async (transaction) => {
        const sql = <Row extends object>(text: string, values: readonly unknown[] = []): Promise<Row[]> =>
          transaction.query<Row>({ text, values });
        const [row] = await sql<{ queued: boolean }>(QUEUED_OF, [accountId, agentId]);
        return { cancels: await unansweredCancels({ sql }, accountId, workerId), queued: row?.queued ?? false };
      },
      'read',
    );
    for (const runId of cancels) this.sendCancel(accountId, workerId, runId);
    if (queued) this.channels.ring(accountId, agentId, 1);
  }

  private async passCancel(accountId: string, runId: string): Promise<void> {
    const rows = await this.database.asAccount(
      accountId,
      (transaction) => transaction.query<CancelHolder>({ text: CANCEL_HOLDER, values: [accountId, runId] }),
      'read',
    );
    const workerId = rows[0]?.worker_id;
    if (workerId) this.sendCancel(accountId, workerId, runId);
  }

  private sendCancel(accountId: string, workerId: string, runId: string): void {
    this.channels.send(accountId, workerId, {
      id: newId('message', this.clock.nowMs()),
      type: 'cancel',
      payload: { run_id: runId },
    });
  }

  private safely(what: string, work: Promise<void>): void {
    work.catch((error: unknown) => this.log.warn(what, { error: describeError(error) }));
  }
}
