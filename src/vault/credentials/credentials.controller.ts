import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import {
  createCredential,
  deleteCredential,
  getCredential,
  listCredentials,
  replaceCredentialValue,
  updateCredential,
} from './credentials.contract.ts';
import { StoredCredentials } from './credentials.service.ts';

@Controller()
export class CredentialsController {
  constructor(@Inject(StoredCredentials) private readonly credentials: StoredCredentials) {}

  @Handles(listCredentials) list(ctx: OpContext) {
    return this.credentials.list(ctx);
  }
  @Handles(createCredential) create(ctx: OpContext, input: In<typeof createCredential>) {
    return this.credentials.create(ctx, input);
  }
  @Handles(getCredential) get(ctx: OpContext, input: In<typeof getCredential>) {
    return this.credentials.get(ctx, input);
  }
  @Handles(updateCredential) update(ctx: OpContext, input: In<typeof updateCredential>) {
    return this.credentials.update(ctx, input);
  }
  @Handles(deleteCredential) delete(ctx: OpContext, input: In<typeof deleteCredential>) {
    return this.credentials.delete(ctx, input);
  }
  @Handles(replaceCredentialValue) replace(ctx: OpContext, input: In<typeof replaceCredentialValue>) {
    return this.credentials.replace(ctx, input);
  }
}
