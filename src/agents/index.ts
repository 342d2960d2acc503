/** The face of the room: what can run. */
export { AgentsModule } from './agents.module.ts';
export { AgentDraining } from './queue/queue.faults.ts';
export { AgentArchived, AgentNotFound, WrongAgent } from './registry/registry.faults.ts';
export { AgentRegistry, UnwrittenPresence, type ReadRegistration } from './registry/registry.service.ts';
export { WorkerConfigs } from './worker-config/worker-config.service.ts';
export type { AgentRow } from './registry/registry.store.ts';
