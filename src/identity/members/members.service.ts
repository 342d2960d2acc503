import { Inject, Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import { invariant } from '../../platform/faults/faults.ts';
import { newId } from '../../platform/ids/ids.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import { endSessionsOf } from '../sessions/sessions.store.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import type { inviteMember, listMembers, removeMember, restoreMember } from './members.contract.ts';
import { MemberExists, MemberNotFound, MemberWasRemoved } from './members.faults.ts';
import {
  addMember,
  findMember,
  listMemberRows,
  markRemoved,
  markRestored,
  statusByMail,
  type MemberRow,
} from './members.store.ts';

type View = Out<typeof listMembers>[number];

/** Who belongs to an account. Removing somebody ends what they can come with; the row stays, and what they did stays theirs. */
@Injectable()
export class Members {
  constructor(
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
  ) {}

  async list(ctx: OpContext): Promise<View[]> {
    return (await listMemberRows(ctx)).map(viewOf);
  }

  /** Says nothing about other accounts: a person who is known there is invited like anybody. */
  async invite(ctx: OpContext, { email, full_name: fullName = null }: In<typeof inviteMember>): Promise<View> {
    const nowMs = ctx.now.getTime();
    const id = newId('principal', nowMs);
    if (!(await addMember(ctx, { id, userId: newId('user', nowMs), email, fullName }))) {
      throw (await statusByMail(ctx, email)) === 'removed' ? MemberWasRemoved() : MemberExists();
    }
    ctx.note({ target_id: id, email });
    return this.shown(ctx, id);
  }

  /**
   * Repeated, it waits again: the answer to the first call may have been lost before every replica knew.
   * @throws Fault 409 `access.last_admin`.
   */
  async remove(
    ctx: OpContext,
    { principal_id: id }: In<typeof removeMember>,
  ): Promise<Later<Out<typeof removeMember>>> {
    const keys = await markRemoved(ctx, id);
    if (!keys) throw MemberNotFound();
    await endSessionsOf(ctx, id, 'removed from the account');
    await this.roles.assertAdminLeft(ctx);
    ctx.note({ revoked_keys: keys });
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return { principal_id: id, status: 'removed' };
    });
  }

  /** @throws Fault 403 `access.escalation` where they would come back with more than the caller holds. */
  async restore(ctx: OpContext, { principal_id: id }: In<typeof restoreMember>): Promise<View> {
    if (!(await markRestored(ctx, id))) throw MemberNotFound();
    await this.roles.assign(ctx, id, [], ['path', 'principal_id']);
    return this.shown(ctx, id);
  }

  private async shown(ctx: OpContext, id: string): Promise<View> {
    const row = await findMember(ctx, id);
    invariant(row, 'a member that was just changed is there');
    return viewOf(row);
  }
}

function viewOf(row: MemberRow): View {
  const { id, userId, email, fullName, ownName, status, createdAt, lastLoginAt } = row;
  return {
    principal_id: id,
    user_id: userId,
    email,
    full_name: fullName,
    display_name: fullName ?? ownName ?? email,
    status,
    created_at: wireTime(createdAt),
    last_login_at: lastLoginAt && wireTime(lastLoginAt),
  };
}
