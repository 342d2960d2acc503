import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { createAgent } from './install.contract.ts';
import { AgentInstalls } from './install.service.ts';

@Controller()
export class InstallController {
  constructor(@Inject(AgentInstalls) private readonly installs: AgentInstalls) {}

  @Handles(createAgent) create(ctx: OpContext, input: In<typeof createAgent>) {
    return this.installs.create(ctx, input);
  }
}
