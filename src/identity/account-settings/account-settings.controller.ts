import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getAccountSettings, updateAccountSettings } from './account-settings.contract.ts';
import { SettingsOfAccounts } from './account-settings.service.ts';

@Controller()
export class AccountSettingsController {
  constructor(@Inject(SettingsOfAccounts) private readonly settings: SettingsOfAccounts) {}

  @Handles(getAccountSettings) get(ctx: OpContext) {
    return this.settings.get(ctx);
  }
  @Handles(updateAccountSettings) update(ctx: OpContext, input: In<typeof updateAccountSettings>) {
    return this.settings.update(ctx, input);
  }
}
