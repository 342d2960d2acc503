import { createDraft, updateDraft } from '../../../src/agents/drafts/drafts.contract.ts';
import { createAgent } from '../../../src/agents/install/install.contract.ts';
import {
  archiveAgent,
  disableAgent,
  enableAgent,
  unarchiveAgent,
} from '../../../src/agents/lifecycle/lifecycle.contract.ts';
import { setAgentGroup, setAgentLabels } from '../../../src/agents/settings/settings.contract.ts';
import { newToken } from '../../contract/exchange.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { sample } from './sample.ts';

const one = async (tenant: Tenant) => ({ path: { agent_id: (await tenant.agent()).id } });
const CONFIG = { instructions: 'Answer.', tools: ['search'], depth: { of: [1, null, true] } };

async function draft(tenant: Tenant): Promise<string> {
  const { agent_id } = await tenant.ask('POST', '/api/v1/agents/drafts', { agent_id: `draft-${newToken()}` });
  tenant.names.add(agent_id);
  return agent_id;
}

export const agentSamples = [
  sample(createDraft, async () => ({
    body: { agent_id: `draft-${newToken()}`, config: CONFIG, display_name: 'A draft' },
  })),
  sample(updateDraft, async (tenant) => ({
    path: { agent_id: await draft(tenant) },
    body: { config: CONFIG, display_name: 'Renamed' },
  })),
  sample(createAgent, async () => ({
    body: {
      agentId: `install-${newToken()}`,
      displayName: 'Installed',
      instructions: 'Answer.',
      model: 'small',
      replicaCount: 2,
      mcpServers: [{ name: 'files', url: 'https://files.test' }],
      skills: [{ id: 'summarise', content: '# Summarise' }],
      anthropicApiKey: null,
      credentialRef: null,
      ttlSeconds: 600,
    },
  })),
  sample(enableAgent, one),
  sample(disableAgent, one),
  sample(archiveAgent, one),
  sample(unarchiveAgent, one),
  sample(setAgentLabels, async (tenant) => ({ ...(await one(tenant)), body: { labels: { team: 'blue' } } })),
  sample(setAgentGroup, async (tenant) => ({ ...(await one(tenant)), body: { mcp_group_id: null } })),
] as const;
