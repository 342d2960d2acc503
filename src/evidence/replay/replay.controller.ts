import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getRecording, replayRun, requestReplay } from './replay.contract.ts';
import { Replays } from './replay.service.ts';

@Controller()
export class ReplayController {
  constructor(@Inject(Replays) private readonly replays: Replays) {}

  @Handles(getRecording) recording(ctx: OpContext, input: In<typeof getRecording>) {
    return this.replays.recording(ctx, input);
  }
  @Handles(replayRun) replay(ctx: OpContext, input: In<typeof replayRun>) {
    return this.replays.replay(ctx, input);
  }
  @Handles(requestReplay) answer(ctx: OpContext, input: In<typeof requestReplay>) {
    return this.replays.answer(ctx, input);
  }
}
