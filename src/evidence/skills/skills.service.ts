import { Inject, Injectable } from '@nestjs/common';
import { AgentSkills } from '../../agents/index.ts';
import { CONFIG, type Config } from '../../platform/config/config.ts';
import { withinTime } from '../../platform/db/time-limit.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { ListTooSlow, RunLifecycle } from '../../runs/index.ts';
import { dayOf } from '../events/view.policy.ts';
import type { listSkills } from './skills.contract.ts';
import { usedSkills } from './skills.store.ts';

/** Which skills a run used, as far as its spans say. A name that matches none is there all the same: nothing is guessed. */
@Injectable()
export class RunSkills {
  constructor(
    @Inject(RunLifecycle) private readonly runs: RunLifecycle,
    @Inject(AgentSkills) private readonly skills: AgentSkills,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  async list(ctx: OpContext, { run_id: runId }: In<typeof listSkills>): Promise<Out<typeof listSkills>> {
    const run = await this.runs.find(ctx, runId);
    const place = { accountId: ctx.actor.accountId, runId, day: dayOf(run.created_at) };
    return withinTime(ctx, this.config.searchSeconds, ListTooSlow, async () =>
      this.skills.named(ctx, await usedSkills(ctx, place)),
    );
  }
}
