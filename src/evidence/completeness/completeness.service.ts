import { Inject, Injectable } from '@nestjs/common';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RunLifecycle, isTerminal } from '../../runs/index.ts';
import { dayOf } from '../events/view.policy.ts';
import type { getCompleteness } from './completeness.contract.ts';
import { toCompleteness } from './completeness.policy.ts';
import { readFindings, readGaps, readIntake } from './completeness.store.ts';

/** What is missing from a run's record. */
@Injectable()
export class CompletenessAccount {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  async get(ctx: OpContext, { run_id: runId }: In<typeof getCompleteness>): Promise<Out<typeof getCompleteness>> {
    const run = await this.runs.find(ctx, runId);
    const place = { accountId: ctx.actor.accountId, runId, day: dayOf(run.created_at) };
    const intake = await readIntake(ctx, place);
    const gaps = await readGaps(ctx, place);
    const findings = await readFindings(ctx, place);
    return toCompleteness({ runId, hasEnded: isTerminal(run.status), masked: run.masked, intake, gaps, findings });
  }
}
