import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import { whoAmI } from './me.contract.ts';
import { Me } from './me.service.ts';

@Controller()
export class MeController {
  constructor(@Inject(Me) private readonly me: Me) {}

  @Handles(whoAmI) show(ctx: OpContext) {
    return this.me.show(ctx);
  }
}
