import { Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { CREDENTIAL_RESOURCE } from './credentials/credentials.store.ts';
import { BindingsController } from './bindings/bindings.controller.ts';
import { CredentialBindings } from './bindings/bindings.service.ts';
import { CredentialsController } from './credentials/credentials.controller.ts';
import { StoredCredentials } from './credentials/credentials.service.ts';
import { KeysController } from './keys/keys.controller.ts';
import { VaultKeys } from './keys/keys.service.ts';
import { SealAgainSweep } from './keys/keys.sweep.ts';
import { Masks } from './masking/masks.service.ts';
import { HandedOut } from './supplies/handed-out.service.ts';
import { HandedOutSweep } from './supplies/handed-out.sweep.ts';
import { SecretSupplies } from './supplies/supplies.service.ts';

/** What it may hold. */
@Module({
  controllers: [CredentialsController, BindingsController, KeysController],
  providers: [
    StoredCredentials,
    CredentialBindings,
    VaultKeys,
    SealAgainSweep,
    SecretSupplies,
    HandedOut,
    HandedOutSweep,
    Masks,
  ],
  exports: [StoredCredentials, SecretSupplies, HandedOut, Masks],
})
export class VaultModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('credential', CREDENTIAL_RESOURCE);
  }
}
