import { fault } from '../../platform/faults/faults.ts';

export const GenerationNotFound = fault('agent_version.not_found', 'not_found', 'The agent has no such version');
