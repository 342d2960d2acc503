import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { addMessage, ingestEvents, listEvents, takeEvents } from './events.contract.ts';
import { EventIntake } from './intake.service.ts';
import { RunEvents } from './events.service.ts';

@Controller()
export class EventsController {
  constructor(
    @Inject(EventIntake) private readonly intake: EventIntake,
    @Inject(RunEvents) private readonly events: RunEvents,
  ) {}

  @Handles(takeEvents) take(ctx: OpContext, input: In<typeof takeEvents>) {
    return this.intake.take(ctx, input);
  }
  @Handles(ingestEvents) ingest(ctx: OpContext, input: In<typeof ingestEvents>) {
    return this.intake.ingest(ctx, input);
  }
  @Handles(addMessage) message(ctx: OpContext, input: In<typeof addMessage>) {
    return this.intake.addMessage(ctx, input);
  }
  @Handles(listEvents) list(ctx: OpContext, input: In<typeof listEvents>) {
    return this.events.list(ctx, input);
  }
}
