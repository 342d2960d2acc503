import { Controller, Inject } from '@nestjs/common';
import { Handles } from '../../platform/operation/handles.ts';
import type { In, OpContext } from '../../platform/operation/operation.ts';
import { beat } from './heartbeats.contract.ts';
import { Heartbeats } from './heartbeats.service.ts';
import { heartbeat, keepAlive, ping, registerWorker, reportHealth, reportRefusal } from './registration.contract.ts';
import { WorkerRegistration } from './registration.service.ts';

@Controller()
export class RegistrationController {
  constructor(
    @Inject(WorkerRegistration) private readonly workers: WorkerRegistration,
    @Inject(Heartbeats) private readonly heartbeats: Heartbeats,
  ) {}

  @Handles(registerWorker) register(ctx: OpContext, input: In<typeof registerWorker>) {
    return this.workers.register(ctx, input);
  }
  @Handles(beat) beat(ctx: OpContext, input: In<typeof beat>) {
    return this.heartbeats.beat(ctx, input);
  }
  @Handles(heartbeat) heartbeat(ctx: OpContext, input: In<typeof heartbeat>) {
    return this.workers.heartbeat(ctx, input);
  }
  @Handles(keepAlive) keepAlive(ctx: OpContext, input: In<typeof keepAlive>) {
    return this.workers.keepAlive(ctx, input);
  }
  @Handles(ping) ping(ctx: OpContext, input: In<typeof ping>) {
    return this.workers.ping(ctx, input);
  }
  @Handles(reportHealth) health(ctx: OpContext, input: In<typeof reportHealth>) {
    return this.workers.health(ctx, input);
  }
  @Handles(reportRefusal) refusal(ctx: OpContext, input: In<typeof reportRefusal>) {
    return this.workers.refusal(ctx, input);
  }
}
