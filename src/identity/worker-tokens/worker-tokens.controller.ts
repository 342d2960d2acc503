import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { listWorkerTokens, revokeWorkerToken, rotateWorkerToken, workerTokenStatus } from './worker-tokens.contract.ts';
import { WorkerTokens } from './worker-tokens.service.ts';

@Controller()
export class WorkerTokensController {
  constructor(@Inject(WorkerTokens) private readonly tokens: WorkerTokens) {}

  @Handles(rotateWorkerToken) rotate(ctx: OpContext, input: In<typeof rotateWorkerToken>) {
    return this.tokens.rotate(ctx, input);
  }
  @Handles(listWorkerTokens) list(ctx: OpContext) {
    return this.tokens.list(ctx);
  }
  @Handles(workerTokenStatus) status(ctx: OpContext, input: In<typeof workerTokenStatus>) {
    return this.tokens.status(ctx, input);
  }
  @Handles(revokeWorkerToken) revoke(ctx: OpContext, input: In<typeof revokeWorkerToken>) {
    return this.tokens.revoke(ctx, input);
  }
}
