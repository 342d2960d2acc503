/** The face of the room: what can run. */
export { AgentsModule } from './agents.module.ts';
export { AgentArchived } from './lifecycle/lifecycle.faults.ts';
export { closedTo } from './lifecycle/lifecycle.policy.ts';
export { AgentDraining } from './queue/queue.faults.ts';
export { AgentNotFound, WrongAgent } from './registry/registry.faults.ts';
export { AgentRegistry, PresenceRule, UnwrittenPresence, type ReadRegistration } from './registry/registry.service.ts';
export { SkillSummary } from './skills/skills.contract.ts';
export { AgentSkills } from './skills/skills.service.ts';
export { WorkerConfigs } from './worker-config/worker-config.service.ts';
export type { AgentRow } from './registry/registry.store.ts';
