import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { searchEvidence } from './search.contract.ts';
import { EvidenceSearch } from './search.service.ts';

@Controller()
export class SearchController {
  constructor(@Inject(EvidenceSearch) private readonly evidence: EvidenceSearch) {}

  @Handles(searchEvidence) search(ctx: OpContext, input: In<typeof searchEvidence>) {
    return this.evidence.search(ctx, input);
  }
}
