import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { agentActivity, workspaceActivity } from './activity.contract.ts';
import { RunActivity } from './activity.service.ts';

@Controller()
export class ActivityController {
  constructor(@Inject(RunActivity) private readonly activity: RunActivity) {}

  @Handles(agentActivity) agent(ctx: OpContext, input: In<typeof agentActivity>) {
    return this.activity.ofAgent(ctx, input);
  }
  @Handles(workspaceActivity) workspace(ctx: OpContext, input: In<typeof workspaceActivity>) {
    return this.activity.ofWorkspace(ctx, input);
  }
}
