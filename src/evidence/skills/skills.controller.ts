import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { listSkills } from './skills.contract.ts';
import { RunSkills } from './skills.service.ts';

@Controller()
export class SkillsController {
  constructor(@Inject(RunSkills) private readonly skills: RunSkills) {}

  @Handles(listSkills) list(ctx: OpContext, input: In<typeof listSkills>) {
    return this.skills.list(ctx, input);
  }
}
