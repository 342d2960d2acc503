import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { reviveRun } from './threads.contract.ts';
import { RunThreads } from './threads.service.ts';

@Controller()
export class ThreadsController {
  constructor(@Inject(RunThreads) private readonly threads: RunThreads) {}

  @Handles(reviveRun) revive(ctx: OpContext, input: In<typeof reviveRun>) {
    return this.threads.revive(ctx, input);
  }
}
