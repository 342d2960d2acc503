import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { explainRun } from './explain.contract.ts';
import { Explain } from './explain.service.ts';

@Controller()
export class ExplainController {
  constructor(@Inject(Explain) private readonly explain: Explain) {}

  @Handles(explainRun) run(ctx: OpContext, input: In<typeof explainRun>) {
    return this.explain.run(ctx, input);
  }
}
