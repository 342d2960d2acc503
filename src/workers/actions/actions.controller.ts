import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { acknowledgeAction, actOnWorker, listWorkerActions } from './actions.contract.ts';
import { WorkerActions } from './actions.service.ts';

@Controller()
export class ActionsController {
  constructor(@Inject(WorkerActions) private readonly actions: WorkerActions) {}

  @Handles(actOnWorker) act(ctx: OpContext, input: In<typeof actOnWorker>) {
    return this.actions.act(ctx, input);
  }
  @Handles(listWorkerActions) list(ctx: OpContext, input: In<typeof listWorkerActions>) {
    return this.actions.list(ctx, input);
  }
  @Handles(acknowledgeAction) acknowledge(ctx: OpContext, input: In<typeof acknowledgeAction>) {
    return this.actions.acknowledge(ctx, input);
  }
}
