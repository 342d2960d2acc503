import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { completeRunByRest, failRunByRest, startDirect, startRunByRest } from './rest.contract.ts';
import { RestReports } from './rest.service.ts';

@Controller()
export class RestReportsController {
  constructor(@Inject(RestReports) private readonly reports: RestReports) {}

  @Handles(startRunByRest) start(ctx: OpContext, input: In<typeof startRunByRest>) {
    return this.reports.start(ctx, input);
  }
  @Handles(completeRunByRest) complete(ctx: OpContext, input: In<typeof completeRunByRest>) {
    return this.reports.complete(ctx, input);
  }
  @Handles(failRunByRest) fail(ctx: OpContext, input: In<typeof failRunByRest>) {
    return this.reports.fail(ctx, input);
  }
  @Handles(startDirect) startDirect(ctx: OpContext, input: In<typeof startDirect>) {
    return this.reports.startDirect(ctx, input);
  }
}
