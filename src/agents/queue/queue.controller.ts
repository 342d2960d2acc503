import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { drainQueue, getQueue, pauseQueue, resumeQueue } from './queue.contract.ts';
import { AgentQueues } from './queue.service.ts';

@Controller()
export class QueueController {
  constructor(@Inject(AgentQueues) private readonly queues: AgentQueues) {}

  @Handles(getQueue) get(ctx: OpContext, input: In<typeof getQueue>) {
    return this.queues.get(ctx, input);
  }
  @Handles(pauseQueue) pause(ctx: OpContext, input: In<typeof pauseQueue>) {
    return this.queues.change(ctx, input, 'paused');
  }
  @Handles(drainQueue) drain(ctx: OpContext, input: In<typeof drainQueue>) {
    return this.queues.change(ctx, input, 'draining');
  }
  @Handles(resumeQueue) resume(ctx: OpContext, input: In<typeof resumeQueue>) {
    return this.queues.change(ctx, input, 'open');
  }
}
