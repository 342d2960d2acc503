import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { listAttempts } from './attempts.contract.ts';
import { RunAttempts } from './attempts.service.ts';

@Controller()
export class AttemptsController {
  constructor(@Inject(RunAttempts) private readonly attempts: RunAttempts) {}

  @Handles(listAttempts) list(ctx: OpContext, input: In<typeof listAttempts>) {
    return this.attempts.list(ctx, input);
  }
}
