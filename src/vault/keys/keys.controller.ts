import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getKeyRotation, listVaultKeys, rotateVaultKey } from './keys.contract.ts';
import { VaultKeys } from './keys.service.ts';

@Controller()
export class KeysController {
  constructor(@Inject(VaultKeys) private readonly keys: VaultKeys) {}

  @Handles(listVaultKeys) list() {
    return this.keys.list();
  }
  @Handles(rotateVaultKey) rotate(ctx: OpContext, input: In<typeof rotateVaultKey>) {
    return this.keys.rotate(ctx, input);
  }
  @Handles(getKeyRotation) rotation(ctx: OpContext, input: In<typeof getKeyRotation>) {
    return this.keys.rotation(ctx, input);
  }
}
