import { Module } from '@nestjs/common';
import { AgentsModule } from '../agents/index.ts';
import { LifecycleController } from './lifecycle/lifecycle.controller.ts';
import { RunLifecycle } from './lifecycle/lifecycle.service.ts';
import { RunMoves } from './moves/moves.service.ts';
import { RunWatch } from './watch/watch.service.ts';

@Module({
  imports: [AgentsModule],
  controllers: [LifecycleController],
  providers: [RunLifecycle, RunMoves, RunWatch],
  exports: [RunLifecycle, RunMoves, RunWatch],
})
export class RunsModule {}
