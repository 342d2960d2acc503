import { Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { RUN_RESOURCE } from './lifecycle/lifecycle.store.ts';
import { AgentsModule } from '../agents/index.ts';
import { ActivityController } from './activity/activity.controller.ts';
import { RunActivity } from './activity/activity.service.ts';
import { AttemptsController } from './attempts/attempts.controller.ts';
import { RunAttempts } from './attempts/attempts.service.ts';
import { LifecycleController } from './lifecycle/lifecycle.controller.ts';
import { RunLifecycle } from './lifecycle/lifecycle.service.ts';
import { RunMoves } from './moves/moves.service.ts';
import { ThreadsController } from './threads/threads.controller.ts';
import { RunThreads } from './threads/threads.service.ts';
import { RunWatch } from './watch/watch.service.ts';

@Module({
  imports: [AgentsModule],
  controllers: [LifecycleController, AttemptsController, ThreadsController, ActivityController],
  providers: [RunLifecycle, RunMoves, RunWatch, RunAttempts, RunThreads, RunActivity],
  exports: [RunLifecycle, RunMoves, RunWatch],
})
export class RunsModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('run', RUN_RESOURCE);
  }
}
