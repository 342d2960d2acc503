import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { claimRun, pollRun } from './claims.contract.ts';
import { Claims } from './claims.service.ts';

@Controller()
export class ClaimsController {
  constructor(@Inject(Claims) private readonly claims: Claims) {}

  @Handles(claimRun) claim(ctx: OpContext, input: In<typeof claimRun>) {
    return this.claims.claim(ctx, input);
  }
  @Handles(pollRun) poll(ctx: OpContext, input: In<typeof pollRun>) {
    return this.claims.poll(ctx, input);
  }
}
