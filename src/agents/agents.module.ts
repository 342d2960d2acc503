import { Module } from '@nestjs/common';
import { InputChecks } from './registry/input-checks.service.ts';
import { RegistryController } from './registry/registry.controller.ts';
import { AgentRegistry } from './registry/registry.service.ts';

@Module({
  controllers: [RegistryController],
  providers: [AgentRegistry, InputChecks],
  exports: [AgentRegistry],
})
export class AgentsModule {}
