import { Injectable } from '@nestjs/common';
import { AccessEscalation, AccessLastAdmin } from '../../identity/index.ts';
import { InputInvalid } from '../../platform/faults/faults.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import { heldWithin } from '../decisions/decisions.policy.ts';
import { capabilitiesOf, isRole } from './roles.policy.ts';
import { countAdmins, deleteRoles, insertRoles, rolesOf, type Rows } from './roles.store.ts';

const ADMIN = 'role_admin';

/**
 * Gives principals roles, and lets nobody give away what they do not hold: neither by a role, nor by acting through a
 * principal that already holds more.
 */
@Injectable()
export class Roles extends RoleAssigner {
  async assign(ctx: Rows, principalId: string, roleIds: readonly string[], loc: readonly string[]): Promise<void> {
    refuseUnknown(roleIds, loc);
    const before = await rolesOf(ctx, principalId);
    await this.refuseEscalation(ctx, [...before, ...roleIds]);
    if (roleIds.length > 0) await insertRoles(ctx, principalId, roleIds);
  }

  async replace(ctx: Rows, principalId: string, roleIds: readonly string[], loc: readonly string[]): Promise<void> {
    refuseUnknown(roleIds, loc);
    const before = await rolesOf(ctx, principalId);
    await this.refuseEscalation(ctx, [...before, ...roleIds]);
    await deleteRoles(ctx, principalId);
    if (roleIds.length > 0) await insertRoles(ctx, principalId, roleIds);
    if (before.includes(ADMIN) && !roleIds.includes(ADMIN)) await this.assertAdminLeft(ctx);
  }

  async assertAdminLeft(ctx: Rows): Promise<void> {
    if ((await countAdmins(ctx)) === 0) throw AccessLastAdmin();
  }

  /** Asks the rows, not a cache: what was taken from the actor a moment ago is not theirs to give. */
  private async refuseEscalation(ctx: Rows, roleIds: readonly string[]): Promise<void> {
    const { actor } = ctx;
    if (actor.kind === 'system') return;
    const held = heldWithin(capabilitiesOf(await rolesOf(ctx, actor.id)), actor.scopes);
    const missing = [...capabilitiesOf(roleIds)].filter((capability) => !held.has(capability));
    if (missing.length > 0) {
      throw AccessEscalation({ message: `Nobody may give away what they do not hold: ${missing.join(', ')}` });
    }
  }
}

function refuseUnknown(roleIds: readonly string[], loc: readonly string[]): void {
  const problems = roleIds.flatMap((id, index) =>
    isRole(id) ? [] : [{ loc: [...loc, index], msg: 'There is no such role', type: 'unknown_reference' }],
  );
  if (problems.length > 0) throw InputInvalid({ problems });
}
