import { Inject, Injectable } from '@nestjs/common';
import { CredentialWatch } from '../../identity/index.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import type * as contract from './principals.contract.ts';
import { PrincipalNotFound } from './principals.faults.ts';
import {
  findPrincipal,
  listPrincipalRows,
  lockPrincipal,
  setAttributes,
  type PrincipalKind,
  type PrincipalRow,
} from './principals.store.ts';

type Member = Out<typeof contract.putMemberAttributes>;
type ServiceAccount = Out<typeof contract.putServiceAccountAttributes>;
type Agent = Out<typeof contract.putAgentRoles>;

const EVERY_KIND: readonly PrincipalKind[] = ['person', 'service_account', 'agent'];

/** Whoever can be granted something, and the roles that they have for the whole account. */
@Injectable()
export class Principals {
  constructor(
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
  ) {}

  async list(ctx: OpContext): Promise<Out<typeof contract.listPrincipals>> {
    return (await listPrincipalRows(ctx, EVERY_KIND)).map(({ id, kind, name, email, fullName }) => ({
      id,
      kind: kind === 'person' ? 'human' : kind,
      name: fullName ?? name,
      subtitle: email,
      agent_id: kind === 'agent' ? id : null,
    }));
  }

  async members(ctx: OpContext): Promise<Member[]> {
    return (await listPrincipalRows(ctx, ['person'])).map(memberOf);
  }

  async serviceAccounts(ctx: OpContext): Promise<ServiceAccount[]> {
    return (await listPrincipalRows(ctx, ['service_account'])).map(serviceAccountOf);
  }

  async agents(ctx: OpContext): Promise<Agent[]> {
    return (await listPrincipalRows(ctx, ['agent'])).map(agentOf);
  }

  async memberRoles(ctx: OpContext, { principal_id: id, role_ids }: In<typeof contract.putMemberRoles>) {
    return this.replaceRoles(ctx, ['person', id], { roleIds: role_ids, view: memberOf });
  }

  async serviceAccountRoles(
    ctx: OpContext,
    { principal_id: id, role_ids }: In<typeof contract.putServiceAccountRoles>,
  ) {
    return this.replaceRoles(ctx, ['service_account', id], { roleIds: role_ids, view: serviceAccountOf });
  }

  async agentRoles(ctx: OpContext, { agent_id: id, role_ids }: In<typeof contract.putAgentRoles>) {
    return this.replaceRoles(ctx, ['agent', id], { roleIds: role_ids, view: agentOf });
  }

  async memberAttributes(ctx: OpContext, input: In<typeof contract.putMemberAttributes>): Promise<Member> {
    return memberOf(await this.noteOf(ctx, 'person', input));
  }

  async serviceAccountAttributes(
    ctx: OpContext,
    input: In<typeof contract.putServiceAccountAttributes>,
  ): Promise<ServiceAccount> {
    return serviceAccountOf(await this.noteOf(ctx, 'service_account', input));
  }

  /** Repeated, it waits again: the answer to the first call may have been lost before every replica knew. */
  private async replaceRoles<View>(
    ctx: OpContext,
    [kind, reference]: readonly [PrincipalKind, string],
    { roleIds, view }: { readonly roleIds: readonly string[]; readonly view: (row: PrincipalRow) => View },
  ): Promise<Later<View>> {
    const { id } = await this.found(ctx, kind, reference);
    await lockPrincipal(ctx, id);
    const before = await this.found(ctx, kind, id);
    await this.roles.replace(ctx, id, roleIds, ['body', 'role_ids']);
    ctx.note({ target_id: id, before: { role_ids: before.roleIds }, after: { role_ids: roleIds } });
    const after = await this.found(ctx, kind, id);
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return view(after);
    });
  }

  private async noteOf(
    ctx: OpContext,
    kind: PrincipalKind,
    { principal_id: id, attributes }: In<typeof contract.putMemberAttributes>,
  ): Promise<PrincipalRow> {
    const before = await this.found(ctx, kind, id);
    await setAttributes(ctx, id, attributes);
    ctx.note({ before: { attributes: before.attributes }, after: { attributes } });
    return this.found(ctx, kind, id);
  }

  private async found(ctx: OpContext, kind: PrincipalKind, reference: string): Promise<PrincipalRow> {
    const row = await findPrincipal(ctx, kind, reference);
    if (!row) throw PrincipalNotFound();
    return row;
  }
}

function memberOf({ id, email, name, fullName, roleIds, attributes }: PrincipalRow): Member {
  return { principal_id: id, email: email ?? name, full_name: fullName, role_ids: [...roleIds], attributes };
}

function serviceAccountOf({ id, name, roleIds, attributes }: PrincipalRow): ServiceAccount {
  return { principal_id: id, display_name: name, role_ids: [...roleIds], attributes };
}

function agentOf({ id, name, roleIds }: PrincipalRow): Agent {
  return { agent_id: id, name, principal_id: id, role_ids: [...roleIds] };
}
