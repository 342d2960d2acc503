import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { streamRun } from './stream.contract.ts';
import { RunStreams } from './stream.service.ts';

@Controller()
export class StreamController {
  constructor(@Inject(RunStreams) private readonly streams: RunStreams) {}

  @Handles(streamRun) open(ctx: OpContext, input: In<typeof streamRun>) {
    return this.streams.stream(ctx, input);
  }
}
