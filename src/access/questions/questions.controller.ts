import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { checkAccess, effectiveAccess } from './questions.contract.ts';
import { Questions } from './questions.service.ts';

@Controller()
export class QuestionsController {
  constructor(@Inject(Questions) private readonly questions: Questions) {}

  @Handles(checkAccess) check(ctx: OpContext, input: In<typeof checkAccess>) {
    return this.questions.check(ctx, input);
  }
  @Handles(effectiveAccess) effective(ctx: OpContext, input: In<typeof effectiveAccess>) {
    return this.questions.effective(ctx, input);
  }
}
