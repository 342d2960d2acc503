import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { invokeAgent } from './invoke.contract.ts';
import { Invoke } from './invoke.service.ts';

@Controller()
export class InvokeController {
  constructor(@Inject(Invoke) private readonly invoke: Invoke) {}

  @Handles(invokeAgent) run(ctx: OpContext, input: In<typeof invokeAgent>) {
    return this.invoke.run(ctx, input);
  }
}
