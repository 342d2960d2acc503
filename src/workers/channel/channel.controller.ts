import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { openChannel, pong } from './channel.contract.ts';
import { Channels } from './channel.service.ts';

@Controller()
export class ChannelController {
  constructor(@Inject(Channels) private readonly channels: Channels) {}

  @Handles(openChannel) open(ctx: OpContext, input: In<typeof openChannel>) {
    return this.channels.open(ctx, input);
  }
  @Handles(pong) pong(ctx: OpContext, input: In<typeof pong>) {
    return this.channels.pong(ctx, input);
  }
}
