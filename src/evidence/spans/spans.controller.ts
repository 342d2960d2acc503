import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { getSpan, listSpans } from './spans.contract.ts';
import { Spans } from './spans.service.ts';

@Controller()
export class SpansController {
  constructor(@Inject(Spans) private readonly spans: Spans) {}

  @Handles(listSpans) list(ctx: OpContext, input: In<typeof listSpans>) {
    return this.spans.list(ctx, input);
  }
  @Handles(getSpan) get(ctx: OpContext, input: In<typeof getSpan>) {
    return this.spans.get(ctx, input);
  }
}
