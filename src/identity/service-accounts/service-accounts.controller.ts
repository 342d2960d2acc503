import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import {
  createServiceAccount,
  disableServiceAccount,
  listServiceAccounts,
  restoreServiceAccount,
} from './service-accounts.contract.ts';
import { ServiceAccounts } from './service-accounts.service.ts';

@Controller()
export class ServiceAccountsController {
  constructor(@Inject(ServiceAccounts) private readonly accounts: ServiceAccounts) {}

  @Handles(listServiceAccounts) list(ctx: OpContext) {
    return this.accounts.list(ctx);
  }
  @Handles(createServiceAccount) create(ctx: OpContext, input: In<typeof createServiceAccount>) {
    return this.accounts.create(ctx, input);
  }
  @Handles(disableServiceAccount) disable(ctx: OpContext, input: In<typeof disableServiceAccount>) {
    return this.accounts.disable(ctx, input);
  }
  @Handles(restoreServiceAccount) restore(ctx: OpContext, input: In<typeof restoreServiceAccount>) {
    return this.accounts.restore(ctx, input);
  }
}
