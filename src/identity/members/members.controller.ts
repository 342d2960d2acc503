import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { inviteMember, listMembers, removeMember, restoreMember } from './members.contract.ts';
import { Members } from './members.service.ts';

@Controller()
export class MembersController {
  constructor(@Inject(Members) private readonly members: Members) {}

  @Handles(listMembers) list(ctx: OpContext) {
    return this.members.list(ctx);
  }
  @Handles(inviteMember) invite(ctx: OpContext, input: In<typeof inviteMember>) {
    return this.members.invite(ctx, input);
  }
  @Handles(removeMember) remove(ctx: OpContext, input: In<typeof removeMember>) {
    return this.members.remove(ctx, input);
  }
  @Handles(restoreMember) restore(ctx: OpContext, input: In<typeof restoreMember>) {
    return this.members.restore(ctx, input);
  }
}
