import { Global, Module } from '@nestjs/common';
import { Identifier } from '../platform/operation/ports.ts';
import { SettingsOfAccounts } from './account-settings/account-settings.service.ts';
import { AccountSettingsController } from './account-settings/account-settings.controller.ts';
import { Accounts } from './accounts/accounts.service.ts';
import { ApiKeysController } from './api-keys/api-keys.controller.ts';
import { ApiKeys } from './api-keys/api-keys.service.ts';
import { SealedKeySweep } from './api-keys/api-keys.sweep.ts';
import { Credentials } from './credentials/credentials.service.ts';
import { LastUse } from './last-use/last-use.sweep.ts';
import { RunTokens } from './run-tokens/run-tokens.service.ts';
import { CredentialWatch } from './watch/watch.service.ts';
import { WorkerTokensController } from './worker-tokens/worker-tokens.controller.ts';
import { WorkerTokens } from './worker-tokens/worker-tokens.service.ts';

/** Who is calling. Global, because the operation runner finds its port here. */
@Global()
@Module({
  controllers: [AccountSettingsController, ApiKeysController, WorkerTokensController],
  providers: [
    CredentialWatch,
    LastUse,
    Credentials,
    { provide: Identifier, useExisting: Credentials },
    ApiKeys,
    SealedKeySweep,
    WorkerTokens,
    RunTokens,
    Accounts,
    SettingsOfAccounts,
  ],
  exports: [Identifier, Credentials, CredentialWatch, Accounts, RunTokens, WorkerTokens],
})
export class IdentityModule {}
