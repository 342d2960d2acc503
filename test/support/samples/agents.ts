import {
  archiveAgent,
  disableAgent,
  enableAgent,
  unarchiveAgent,
} from '../../../src/agents/lifecycle/lifecycle.contract.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { sample } from './sample.ts';

const one = async (tenant: Tenant) => ({ path: { agent_id: (await tenant.agent()).id } });

export const agentSamples = [
  sample(enableAgent, one),
  sample(disableAgent, one),
  sample(archiveAgent, one),
  sample(unarchiveAgent, one),
] as const;
