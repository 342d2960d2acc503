import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getWorkerConfig, listWorkerConfigs, putWorkerConfig } from './worker-config.contract.ts';
import { WorkerConfigs } from './worker-config.service.ts';

@Controller()
export class WorkerConfigController {
  constructor(@Inject(WorkerConfigs) private readonly configs: WorkerConfigs) {}

  @Handles(getWorkerConfig) get(ctx: OpContext, input: In<typeof getWorkerConfig>) {
    return this.configs.get(ctx, input);
  }
  @Handles(putWorkerConfig) put(ctx: OpContext, input: In<typeof putWorkerConfig>) {
    return this.configs.put(ctx, input);
  }
  @Handles(listWorkerConfigs) list(ctx: OpContext, input: In<typeof listWorkerConfigs>) {
    return this.configs.list(ctx, input);
  }
}
