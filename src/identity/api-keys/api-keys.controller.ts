import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { createApiKey, listApiKeys, revealApiKey, revokeApiKey } from './api-keys.contract.ts';
import { ApiKeys } from './api-keys.service.ts';

@Controller()
export class ApiKeysController {
  constructor(@Inject(ApiKeys) private readonly keys: ApiKeys) {}

  @Handles(createApiKey) create(ctx: OpContext, input: In<typeof createApiKey>) {
    return this.keys.create(ctx, input);
  }
  @Handles(listApiKeys) list(ctx: OpContext) {
    return this.keys.list(ctx);
  }
  @Handles(revokeApiKey) revoke(ctx: OpContext, input: In<typeof revokeApiKey>) {
    return this.keys.revoke(ctx, input);
  }
  @Handles(revealApiKey) reveal(ctx: OpContext, input: In<typeof revealApiKey>) {
    return this.keys.reveal(ctx, input);
  }
}
