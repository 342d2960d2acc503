import { fault } from '../../platform/faults/faults.ts';

export const AgentLive = fault('agent.live', 'conflict', 'The agent is live: a worker has registered for it');
