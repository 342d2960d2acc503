import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { streamAccount } from './live.contract.ts';
import { AccountStreams } from './live.service.ts';

@Controller()
export class LiveController {
  constructor(@Inject(AccountStreams) private readonly streams: AccountStreams) {}

  @Handles(streamAccount) open(ctx: OpContext, input: In<typeof streamAccount>) {
    return this.streams.stream(ctx, input);
  }
}
