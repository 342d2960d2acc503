import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { setAgentGroup, setAgentLabels } from './settings.contract.ts';
import { AgentSettings } from './settings.service.ts';

@Controller()
export class SettingsController {
  constructor(@Inject(AgentSettings) private readonly settings: AgentSettings) {}

  @Handles(setAgentLabels) label(ctx: OpContext, input: In<typeof setAgentLabels>) {
    return this.settings.label(ctx, input);
  }
  @Handles(setAgentGroup) group(ctx: OpContext, input: In<typeof setAgentGroup>) {
    return this.settings.group(ctx, input);
  }
}
