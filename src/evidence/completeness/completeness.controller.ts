import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getCompleteness } from './completeness.contract.ts';
import { CompletenessAccount } from './completeness.service.ts';

@Controller()
export class CompletenessController {
  constructor(@Inject(CompletenessAccount) private readonly account: CompletenessAccount) {}

  @Handles(getCompleteness) get(ctx: OpContext, input: In<typeof getCompleteness>) {
    return this.account.get(ctx, input);
  }
}
