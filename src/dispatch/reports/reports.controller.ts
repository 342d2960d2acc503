import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { completeRun, failRun, startRun, triggerRun } from './reports.contract.ts';
import { Reports } from './reports.service.ts';

@Controller()
export class ReportsController {
  constructor(@Inject(Reports) private readonly reports: Reports) {}

  @Handles(startRun) start(ctx: OpContext, input: In<typeof startRun>) {
    return this.reports.start(ctx, input);
  }
  @Handles(triggerRun) trigger(ctx: OpContext, input: In<typeof triggerRun>) {
    return this.reports.trigger(ctx, input);
  }
  @Handles(completeRun) complete(ctx: OpContext, input: In<typeof completeRun>) {
    return this.reports.complete(ctx, input);
  }
  @Handles(failRun) fail(ctx: OpContext, input: In<typeof failRun>) {
    return this.reports.fail(ctx, input);
  }
}
