import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { compareRuns } from './compare.contract.ts';
import { RunComparisons } from './compare.service.ts';

@Controller()
export class CompareController {
  constructor(@Inject(RunComparisons) private readonly comparisons: RunComparisons) {}

  @Handles(compareRuns) compare(ctx: OpContext, input: In<typeof compareRuns>) {
    return this.comparisons.compare(ctx, input);
  }
}
