import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { forgetWorker, getWorker, listWorkers } from './fleet.contract.ts';
import { Fleet } from './fleet.service.ts';

@Controller()
export class FleetController {
  constructor(@Inject(Fleet) private readonly fleet: Fleet) {}

  @Handles(listWorkers) list(ctx: OpContext, input: In<typeof listWorkers>) {
    return this.fleet.list(ctx, input);
  }
  @Handles(getWorker) show(ctx: OpContext, input: In<typeof getWorker>) {
    return this.fleet.show(ctx, input);
  }
  @Handles(forgetWorker) forget(ctx: OpContext, input: In<typeof forgetWorker>) {
    return this.fleet.forget(ctx, input);
  }
}
