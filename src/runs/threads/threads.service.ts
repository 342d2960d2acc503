import { Inject, Injectable } from '@nestjs/common';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { isTerminal } from '../lifecycle/lifecycle.states.ts';
import { RunNotRevivable } from '../lifecycle/lifecycle.faults.ts';
import { toSummary, type RunSummaryView } from '../lifecycle/lifecycle.policy.ts';
import { RunLifecycle } from '../lifecycle/lifecycle.service.ts';
import type { RunRow } from '../lifecycle/lifecycle.store.ts';
import type { reviveRun } from './threads.contract.ts';
import { unreadableSnapshot } from './threads.policy.ts';
import { readSnapshot } from './threads.store.ts';

/** Runs that go on from others: a thread is named after its first one. */
@Injectable()
export class RunThreads {
  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * A new run with the session of an ended one. It takes a copy of the session, so what becomes of the old run is nothing to it.
   * @throws Fault 409 `run.not_revivable`
   */
  async revive(ctx: OpContext, { run_id, input }: In<typeof reviveRun>): Promise<RunSummaryView> {
    const run = await this.runs.find(ctx, run_id);
    await this.assertRevivable(ctx, run);
    const row = await this.runs.order(ctx, {
      agentRef: run.agent_id,
      input: input ?? run.input,
      channel: 'api',
      transport: 'polling',
      origin: { kind: 'rest', id: null },
      metadata: run.metadata,
      labels: run.labels,
      require: { version: run.require_version, labels: run.require_labels },
      revives: { runId: run.id, threadId: run.thread_id },
    });
    ctx.note({ revived: run.id, thread_id: run.thread_id });
    return toSummary(row);
  }

  private async assertRevivable(ctx: OpContext, run: RunRow): Promise<void> {
    const no = (reason: string) => RunNotRevivable({ message: `The run cannot be revived: ${reason}` });
    if (!isTerminal(run.status)) throw no('it has not ended');
    if (run.is_withheld) throw no('the account keeps no content of it');
    const snapshot = run.has_snapshot ? await readSnapshot(ctx, run.id) : null;
    if (snapshot === null) throw no('its worker left no snapshot of its session');
    const reason = unreadableSnapshot(snapshot, this.config.jsonDepthLimit);
    if (reason !== undefined) throw no(reason);
  }
}
