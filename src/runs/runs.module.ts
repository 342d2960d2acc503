import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.ts';
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
  controllers: [LifecycleController, AttemptsController, ThreadsController],
  providers: [RunLifecycle, RunMoves, RunWatch, RunAttempts, RunThreads],
  exports: [RunLifecycle, RunMoves, RunWatch],
})
export class RunsModule {}
