import { Injectable } from '@nestjs/common';
import { InputInvalid } from '../../platform/faults/faults.ts';
import type { OpContext, In, Out } from '../../platform/operation/operation.ts';
import type { getAccountSettings, updateAccountSettings } from './account-settings.contract.ts';
import { AccountSettingsChanged } from './account-settings.faults.ts';
import { retentionProblems, settingsAfter, settingsView, unenforced } from './account-settings.policy.ts';
import { findSettings, lockSettings, replaceSettings } from './account-settings.store.ts';

/** What an account decides for all of its agents. Whoever enforces a limit reads it then, so a change counts at once. */
@Injectable()
export class SettingsOfAccounts {
  async get(ctx: OpContext): Promise<Out<typeof getAccountSettings>> {
    return settingsView(await findSettings(ctx));
  }

  /**
   * @throws Fault 422 for what this build does not enforce, and for an audit trail that would go before what it is about; 409
   * `account_settings.changed` where another version is in force than the caller has seen.
   */
  async update(ctx: OpContext, update: In<typeof updateAccountSettings>): Promise<Out<typeof updateAccountSettings>> {
    const problems = unenforced(update);
    if (problems.length > 0) throw InputInvalid({ problems });
    const { version, ...before } = await lockSettings(ctx);
    if (typeof update.base_version === 'number' && update.base_version !== version) throw AccountSettingsChanged();
    const after = settingsAfter(before, update);
    const contradictions = retentionProblems(after);
    if (contradictions.length > 0) throw InputInvalid({ problems: contradictions });
    await replaceSettings(ctx, after);
    ctx.note({ version: version + 1, before: changed(before, after), after: changed(after, before) });
    return settingsView({ version: version + 1, ...after });
  }
}

/** The settings of the one that the other has not. */
function changed(one: object, other: object): object {
  const others = new Map<string, unknown>(Object.entries(other));
  return Object.fromEntries(Object.entries(one).filter(([name, value]) => others.get(name) !== value));
}
