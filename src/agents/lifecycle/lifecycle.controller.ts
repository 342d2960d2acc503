import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { archiveAgent, disableAgent, enableAgent, unarchiveAgent } from './lifecycle.contract.ts';
import { AgentLifecycle } from './lifecycle.service.ts';

@Controller()
export class LifecycleController {
  constructor(@Inject(AgentLifecycle) private readonly agents: AgentLifecycle) {}

  @Handles(enableAgent) enable(ctx: OpContext, input: In<typeof enableAgent>) {
    return this.agents.enable(ctx, input, true);
  }
  @Handles(disableAgent) disable(ctx: OpContext, input: In<typeof disableAgent>) {
    return this.agents.enable(ctx, input, false);
  }
  @Handles(archiveAgent) archive(ctx: OpContext, input: In<typeof archiveAgent>) {
    return this.agents.archive(ctx, input);
  }
  @Handles(unarchiveAgent) unarchive(ctx: OpContext, input: In<typeof unarchiveAgent>) {
    return this.agents.unarchive(ctx, input);
  }
}
