import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { AccessEscalation } from '../credentials/credentials.faults.ts';
import { ServiceAccountNotFound } from './service-accounts.faults.ts';

const ServiceAccountView = z
  .object({
    principal_id: z.string(),
    display_name: z.string(),
    /** `active` or `disabled`. */
    status: z.string(),
    /** `api_key`: it was made together with a key. */
    source: z.enum(['managed', 'api_key']),
    created_at: z.string(),
  })
  .meta({ id: 'ServiceAccountView' });

const path = z.object({ principal_id: z.string() });

export const listServiceAccounts = operation({
  id: 'identity.list_service_accounts',
  summary: 'Lists the account’s service accounts, disabled ones too, oldest first.',
  http: { method: 'GET', path: '/api/v1/accounts/service-accounts', status: 200 },
  capability: 'service_account.read',
  input: {},
  output: z.array(ServiceAccountView),
  faults: [],
});

export const createServiceAccount = operation({
  id: 'identity.create_service_account',
  summary: 'Makes a service account, with roles that reach no further than the caller.',
  http: { method: 'POST', path: '/api/v1/accounts/service-accounts', status: 201 },
  capability: 'service_account.create',
  audit: { action: 'service_account.create', target: () => ['principal', ''] },
  input: {
    body: z
      .object({
        display_name: z.string().min(1).max(200),
        role_ids: z.array(z.string().max(500)).max(100).optional(),
      })
      .meta({ id: 'CreateServiceAccountRequest' }),
  },
  output: ServiceAccountView,
  faults: [AccessEscalation],
});

export const disableServiceAccount = operation({
  id: 'identity.disable_service_account',
  summary: 'Disables a service account: when this answers, no replica takes its keys any more. May be repeated.',
  http: { method: 'DELETE', path: '/api/v1/accounts/service-accounts/{principal_id}', status: 200 },
  capability: 'service_account.disable',
  audit: { action: 'service_account.disable', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path },
  output: z.record(z.string(), z.string()),
  faults: [ServiceAccountNotFound],
});

export const restoreServiceAccount = operation({
  id: 'identity.restore_service_account',
  summary: 'Enables a service account again, and with it those of its keys that were not revoked. May be repeated.',
  http: { method: 'POST', path: '/api/v1/accounts/service-accounts/{principal_id}/restore', status: 200 },
  capability: 'service_account.disable',
  audit: { action: 'service_account.restore', target: ({ principal_id }) => ['principal', principal_id] },
  input: { path },
  output: ServiceAccountView,
  faults: [ServiceAccountNotFound, AccessEscalation],
});
