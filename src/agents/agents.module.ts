import { Inject, Module } from '@nestjs/common';
import { ResourceKinds } from '../platform/operation/ports.ts';
import { AGENT_RESOURCE } from './registry/registry.store.ts';
import { VaultModule } from '../vault/index.ts';
import { DraftsController } from './drafts/drafts.controller.ts';
import { AgentDrafts } from './drafts/drafts.service.ts';
import { InstallController } from './install/install.controller.ts';
import { AgentInstalls } from './install/install.service.ts';
import { LifecycleController } from './lifecycle/lifecycle.controller.ts';
import { AgentLifecycle } from './lifecycle/lifecycle.service.ts';
import { PolicyController } from './policy/policy.controller.ts';
import { AgentPolicies } from './policy/policy.service.ts';
import { QueueController } from './queue/queue.controller.ts';
import { AgentQueues } from './queue/queue.service.ts';
import { InputChecks } from './registry/input-checks.service.ts';
import { RegistryController } from './registry/registry.controller.ts';
import { AgentRegistry } from './registry/registry.service.ts';
import { SettingsController } from './settings/settings.controller.ts';
import { AgentSettings } from './settings/settings.service.ts';
import { SkillsController } from './skills/skills.controller.ts';
import { AgentSkills } from './skills/skills.service.ts';
import { VersionsController } from './versions/versions.controller.ts';
import { AgentVersions } from './versions/versions.service.ts';
import { WorkerConfigController } from './worker-config/worker-config.controller.ts';
import { WorkerConfigs } from './worker-config/worker-config.service.ts';

@Module({
  imports: [VaultModule],
  controllers: [
    RegistryController,
    DraftsController,
    InstallController,
    LifecycleController,
    SettingsController,
    VersionsController,
    SkillsController,
    PolicyController,
    QueueController,
    WorkerConfigController,
  ],
  providers: [
    AgentRegistry,
    InputChecks,
    AgentDrafts,
    AgentInstalls,
    AgentLifecycle,
    AgentSettings,
    AgentVersions,
    AgentSkills,
    AgentPolicies,
    AgentQueues,
    WorkerConfigs,
  ],
  exports: [AgentRegistry, AgentSkills, WorkerConfigs],
})
export class AgentsModule {
  constructor(@Inject(ResourceKinds) kinds: ResourceKinds) {
    kinds.register('agent', AGENT_RESOURCE);
  }
}
