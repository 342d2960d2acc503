import { Global, Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { API_KEY_RESOURCE } from './api-keys/api-keys.store.ts';
import { Identifier } from '../platform/operation/ports.ts';
import { SettingsOfAccounts } from './account-settings/account-settings.service.ts';
import { AccountSettingsController } from './account-settings/account-settings.controller.ts';
import { Accounts } from './accounts/accounts.service.ts';
import { ApiKeysController } from './api-keys/api-keys.controller.ts';
import { ApiKeys } from './api-keys/api-keys.service.ts';
import { SealedKeySweep } from './api-keys/api-keys.sweep.ts';
import { Credentials } from './credentials/credentials.service.ts';
import { LastUse } from './last-use/last-use.sweep.ts';
import { KeyExchange } from './login/key-exchange.service.ts';
import { LoginController } from './login/login.controller.ts';
import { Login } from './login/login.service.ts';
import { Provider } from './login/provider.client.ts';
import { MeController } from './me/me.controller.ts';
import { Me } from './me/me.service.ts';
import { MembersController } from './members/members.controller.ts';
import { Members } from './members/members.service.ts';
import { RunTokens } from './run-tokens/run-tokens.service.ts';
import { ServiceAccountsController } from './service-accounts/service-accounts.controller.ts';
import { ServiceAccounts } from './service-accounts/service-accounts.service.ts';
import { Acting } from './sessions/acting.service.ts';
import { SessionsController } from './sessions/sessions.controller.ts';
import { Sessions } from './sessions/sessions.service.ts';
import { SessionSweep } from './sessions/sessions.sweep.ts';
import { TrustedDomainsController } from './trusted-domains/trusted-domains.controller.ts';
import { TrustedDomains } from './trusted-domains/trusted-domains.service.ts';
import { CredentialWatch } from './watch/watch.service.ts';
import { WorkerTokensController } from './worker-tokens/worker-tokens.controller.ts';
import { WorkerTokens } from './worker-tokens/worker-tokens.service.ts';

/** Who is calling. Global, because the operation runner finds its port here. */
@Global()
@Module({
  controllers: [
    AccountSettingsController,
    ApiKeysController,
    LoginController,
    MeController,
    MembersController,
    ServiceAccountsController,
    TrustedDomainsController,
    SessionsController,
    WorkerTokensController,
  ],
  providers: [
    CredentialWatch,
    LastUse,
    Sessions,
    SessionSweep,
    Acting,
    Credentials,
    { provide: Identifier, useExisting: Credentials },
    ApiKeys,
    SealedKeySweep,
    WorkerTokens,
    RunTokens,
    Accounts,
    SettingsOfAccounts,
    Members,
    ServiceAccounts,
    TrustedDomains,
    KeyExchange,
    Login,
    Me,
    Provider,
  ],
  exports: [Identifier, Credentials, CredentialWatch, Accounts, RunTokens, WorkerTokens],
})
export class IdentityModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('api_key', API_KEY_RESOURCE);
  }
}
