import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { downloadArtifact, getArtifact, listArtifacts } from './artifacts.contract.ts';
import { Artifacts } from './artifacts.service.ts';

@Controller()
export class ArtifactsController {
  constructor(@Inject(Artifacts) private readonly artifacts: Artifacts) {}

  @Handles(listArtifacts) list(ctx: OpContext, input: In<typeof listArtifacts>) {
    return this.artifacts.list(ctx, input);
  }
  @Handles(getArtifact) get(ctx: OpContext, input: In<typeof getArtifact>) {
    return this.artifacts.get(ctx, input);
  }
  @Handles(downloadArtifact) download(ctx: OpContext, input: In<typeof downloadArtifact>) {
    return this.artifacts.download(ctx, input);
  }
}
