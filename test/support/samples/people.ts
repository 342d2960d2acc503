import {
  inviteMember,
  listMembers,
  removeMember,
  restoreMember,
} from '../../../src/identity/members/members.contract.ts';
import * as serviceAccounts from '../../../src/identity/service-accounts/service-accounts.contract.ts';
import * as trustedDomains from '../../../src/identity/trusted-domains/trusted-domains.contract.ts';
import { newToken } from '../../contract/exchange.ts';
import type { Tenant } from '../../contract/tenant.ts';
import { nothing, sample } from './sample.ts';

const member = async (tenant: Tenant) => {
  const { json } = await tenant.call('POST', '/api/v1/accounts/members', { json: { email: newMail() } });
  return { path: { principal_id: json?.principal_id as string } };
};

const serviceAccount = async (tenant: Tenant) => {
  const wanted = { display_name: 'Sweep', role_ids: ['role_viewer'] };
  const { json } = await tenant.call('POST', '/api/v1/accounts/service-accounts', { json: wanted });
  return { path: { principal_id: json?.principal_id as string } };
};

const DOMAINS = '/api/v1/accounts/trusted-domains';

export const peopleSamples = [
  sample(listMembers, nothing),
  sample(inviteMember, async () => ({ body: { email: newMail(), full_name: 'Ada Lovelace' } })),
  sample(removeMember, member),
  sample(restoreMember, member),
  sample(trustedDomains.getTrustedDomains, nothing),
  sample(trustedDomains.trustDomain, async (tenant) => {
    await tenant.call('DELETE', DOMAINS);
    return {};
  }),
  sample(trustedDomains.distrustDomain, async (tenant) => {
    await tenant.call('POST', DOMAINS);
    return { query: { reason: 'moved' } };
  }),
  sample(serviceAccounts.listServiceAccounts, nothing),
  sample(serviceAccounts.createServiceAccount, async () => ({
    body: { display_name: 'Nightly', role_ids: ['role_runner'] },
  })),
  sample(serviceAccounts.disableServiceAccount, serviceAccount),
  sample(serviceAccounts.restoreServiceAccount, serviceAccount),
];

function newMail(): string {
  return `${newToken()}@example.com`;
}
