import { Inject, Injectable } from '@nestjs/common';
import { wireTime } from '../../platform/clock/clock.ts';
import { newId } from '../../platform/ids/ids.ts';
import { later, type Later } from '../../platform/operation/later.ts';
import type { In, OpContext, Out } from '../../platform/operation/operation.ts';
import { RoleAssigner } from '../../platform/operation/ports.ts';
import { CredentialWatch } from '../watch/watch.service.ts';
import type {
  createServiceAccount,
  disableServiceAccount,
  listServiceAccounts,
  restoreServiceAccount,
} from './service-accounts.contract.ts';
import { ServiceAccountNotFound } from './service-accounts.faults.ts';
import { insertManaged, listRows, setStatus, type ServiceAccountRow } from './service-accounts.store.ts';

type View = Out<typeof listServiceAccounts>[number];

/** Principals that are programs. One that is disabled stays, with its roles and keys, and opens nothing until it is restored. */
@Injectable()
export class ServiceAccounts {
  constructor(
    @Inject(RoleAssigner) private readonly roles: RoleAssigner,
    @Inject(CredentialWatch) private readonly watch: CredentialWatch,
  ) {}

  async list(ctx: OpContext): Promise<View[]> {
    return (await listRows(ctx)).map(viewOf);
  }

  async create(ctx: OpContext, wanted: In<typeof createServiceAccount>): Promise<View> {
    const { display_name: name, role_ids: roleIds = [] } = wanted;
    const id = newId('principal', ctx.now.getTime());
    const row = await insertManaged(ctx, id, name);
    await this.roles.assign(ctx, id, roleIds, ['body', 'role_ids']);
    ctx.note({ target_id: id, name, role_ids: roleIds });
    return viewOf(row);
  }

  /** Repeated, it waits again: the answer to the first call may have been lost before every replica knew. */
  async disable(
    ctx: OpContext,
    { principal_id: id }: In<typeof disableServiceAccount>,
  ): Promise<Later<Out<typeof disableServiceAccount>>> {
    if (!(await setStatus(ctx, id, 'disabled'))) throw ServiceAccountNotFound();
    const version = await this.watch.change(ctx);
    return later(async () => {
      await this.watch.settled(version);
      return { principal_id: id, status: 'disabled' };
    });
  }

  /** @throws Fault 403 `access.escalation` where it would come back with more than the caller holds. */
  async restore(ctx: OpContext, { principal_id: id }: In<typeof restoreServiceAccount>): Promise<View> {
    const row = await setStatus(ctx, id, 'active');
    if (!row) throw ServiceAccountNotFound();
    await this.roles.assign(ctx, id, [], ['path', 'principal_id']);
    return viewOf(row);
  }
}

function viewOf({ id, name, status, source, createdAt }: ServiceAccountRow): View {
  return { principal_id: id, display_name: name, status, source, created_at: wireTime(createdAt) };
}
