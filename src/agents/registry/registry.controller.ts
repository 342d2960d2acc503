import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getAgent, listAgents } from './registry.contract.ts';
import { AgentRegistry } from './registry.service.ts';

@Controller()
export class RegistryController {
  constructor(@Inject(AgentRegistry) private readonly agents: AgentRegistry) {}

  @Handles(listAgents) list(ctx: OpContext, input: In<typeof listAgents>) {
    return this.agents.list(ctx, input);
  }
  @Handles(getAgent) show(ctx: OpContext, input: In<typeof getAgent>) {
    return this.agents.show(ctx, input);
  }
}
