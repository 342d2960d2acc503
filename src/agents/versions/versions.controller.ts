import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getGeneration, listGenerations } from './versions.contract.ts';
import { AgentVersions } from './versions.service.ts';

@Controller()
export class VersionsController {
  constructor(@Inject(AgentVersions) private readonly versions: AgentVersions) {}

  @Handles(listGenerations) list(ctx: OpContext, input: In<typeof listGenerations>) {
    return this.versions.list(ctx, input);
  }
  @Handles(getGeneration) show(ctx: OpContext, input: In<typeof getGeneration>) {
    return this.versions.show(ctx, input);
  }
}
