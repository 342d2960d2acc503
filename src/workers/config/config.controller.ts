import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { acknowledgeConfig, requestConfig } from './config.contract.ts';
import { WorkerConfigFrames } from './config.service.ts';

@Controller()
export class WorkerConfigFramesController {
  constructor(@Inject(WorkerConfigFrames) private readonly configs: WorkerConfigFrames) {}

  @Handles(requestConfig) hand(ctx: OpContext, input: In<typeof requestConfig>) {
    return this.configs.hand(ctx, input);
  }
  @Handles(acknowledgeConfig) taken(ctx: OpContext, input: In<typeof acknowledgeConfig>) {
    return this.configs.taken(ctx, input);
  }
}
