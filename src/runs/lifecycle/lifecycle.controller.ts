import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { cancelRun, createRun, getRun, listRuns } from './lifecycle.contract.ts';
import { RunLifecycle } from './lifecycle.service.ts';

@Controller()
export class LifecycleController {
  constructor(@Inject(RunLifecycle) private readonly runs: RunLifecycle) {}

  @Handles(createRun) create(ctx: OpContext, input: In<typeof createRun>) {
    return this.runs.create(ctx, input);
  }
  @Handles(listRuns) list(ctx: OpContext, input: In<typeof listRuns>) {
    return this.runs.list(ctx, input);
  }
  @Handles(getRun) get(ctx: OpContext, input: In<typeof getRun>) {
    return this.runs.detail(ctx, input);
  }
  @Handles(cancelRun) cancel(ctx: OpContext, input: In<typeof cancelRun>) {
    return this.runs.cancel(ctx, input);
  }
}
