import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getSkill, listSkills } from './skills.contract.ts';
import { AgentSkills } from './skills.service.ts';

@Controller()
export class SkillsController {
  constructor(@Inject(AgentSkills) private readonly skills: AgentSkills) {}

  @Handles(listSkills) list(ctx: OpContext, input: In<typeof listSkills>) {
    return this.skills.list(ctx, input);
  }
  @Handles(getSkill) show(ctx: OpContext, input: In<typeof getSkill>) {
    return this.skills.show(ctx, input);
  }
}
