import { listCapabilities, listResourceTypes } from '../../../src/access/catalogue/catalogue.contract.ts';
import * as principals from '../../../src/access/principals/principals.contract.ts';
import { checkAccess, effectiveAccess } from '../../../src/access/questions/questions.contract.ts';
import { newToken } from '../../contract/exchange.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { nothing, sample } from './sample.ts';

const made = async (tenant: Tenant, what: string, json: object) => {
  const answer = await tenant.call('POST', `/api/v1/accounts/${what}`, { json });
  return { principal_id: answer.json?.principal_id as string };
};
const member = (tenant: Tenant) => made(tenant, 'members', { email: `${newToken()}@example.com` });
const serviceAccount = (tenant: Tenant) => made(tenant, 'service-accounts', { display_name: 'Sweep' });

export const accessSamples = [
  sample(listCapabilities, nothing),
  sample(listResourceTypes, nothing),
  sample(principals.listPrincipals, nothing),
  sample(principals.listMembersOfAccess, nothing),
  sample(principals.listServiceAccountsOfAccess, nothing),
  sample(principals.listAgentsOfAccess, nothing),
  sample(principals.putMemberRoles, async (tenant) => ({
    path: await member(tenant),
    body: { role_ids: ['role_viewer'] },
  })),
  sample(principals.putServiceAccountRoles, async (tenant) => ({
    path: await serviceAccount(tenant),
    body: { role_ids: ['role_runner', 'role_viewer'] },
  })),
  sample(principals.putAgentRoles, async (tenant) => ({
    path: { agent_id: (await tenant.agent()).handle },
    body: { role_ids: ['role_runner'] },
  })),
  sample(principals.putMemberAttributes, async (tenant) => ({
    path: await member(tenant),
    body: { attributes: { team: 'signals' } },
  })),
  sample(principals.putServiceAccountAttributes, async (tenant) => ({
    path: await serviceAccount(tenant),
    body: { attributes: { team: 'signals' } },
  })),
  sample(checkAccess, async (tenant) => ({
    body: { principal_id: tenant.ownerId, capability: 'run.read', resource_type: 'account', resource_id: '*' },
  })),
  sample(effectiveAccess, async (tenant) => ({ path: { principal_id: tenant.ownerId } })),
];
