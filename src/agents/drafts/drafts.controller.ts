import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { createDraft, updateDraft } from './drafts.contract.ts';
import { AgentDrafts } from './drafts.service.ts';

@Controller()
export class DraftsController {
  constructor(@Inject(AgentDrafts) private readonly drafts: AgentDrafts) {}

  @Handles(createDraft) create(ctx: OpContext, input: In<typeof createDraft>) {
    return this.drafts.create(ctx, input);
  }
  @Handles(updateDraft) update(ctx: OpContext, input: In<typeof updateDraft>) {
    return this.drafts.update(ctx, input);
  }
}
