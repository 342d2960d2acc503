import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { createArtifact, updateArtifact, writeArtifact } from './writing.contract.ts';
import { ArtifactWriting } from './writing.service.ts';

@Controller()
export class WritingController {
  constructor(@Inject(ArtifactWriting) private readonly artifacts: ArtifactWriting) {}

  @Handles(createArtifact) create(ctx: OpContext, input: In<typeof createArtifact>) {
    return this.artifacts.create(ctx, input);
  }
  @Handles(updateArtifact) update(ctx: OpContext, input: In<typeof updateArtifact>) {
    return this.artifacts.update(ctx, input);
  }
  @Handles(writeArtifact) write(ctx: OpContext, input: In<typeof writeArtifact>) {
    return this.artifacts.write(ctx, input);
  }
}
