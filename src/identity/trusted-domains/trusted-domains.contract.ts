import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { TrustedDomainExists, TrustedDomainNotFound } from './trusted-domains.faults.ts';

const TrustedDomainView = z
  .object({ id: z.string(), account_id: z.string(), domain: z.string(), created_at: z.string() })
  .meta({ id: 'TrustedDomainView' });

const TrustedDomainSettingsView = z
  .object({
    domains: z.array(TrustedDomainView),
    /** The caller's own, if it may be trusted. */
    eligible_domain: z.string().nullable(),
    ineligible_reason: z.string().nullable(),
    /** Whether the caller's domain is trusted. */
    enabled: z.boolean(),
  })
  .meta({ id: 'TrustedDomainSettingsView' });

export const getTrustedDomains = operation({
  id: 'identity.get_trusted_domains',
  summary: 'Lists the domains whose people become members by signing in, and says whether the caller’s own may be one.',
  http: { method: 'GET', path: '/api/v1/accounts/trusted-domains', status: 200 },
  capability: 'trusted_domain.read',
  input: {},
  output: TrustedDomainSettingsView,
  faults: [],
});

export const trustDomain = operation({
  id: 'identity.trust_domain',
  summary: 'Lets everybody become a member who signs in with an address of the caller’s own domain.',
  http: { method: 'POST', path: '/api/v1/accounts/trusted-domains', status: 201 },
  capability: 'trusted_domain.create',
  audit: { action: 'trusted_domain.create', target: () => ['trusted_domain', ''] },
  input: {},
  output: TrustedDomainView,
  faults: [TrustedDomainExists],
});

export const distrustDomain = operation({
  id: 'identity.distrust_domain',
  summary: 'No longer lets people of the caller’s own domain become members; those who did stay.',
  http: { method: 'DELETE', path: '/api/v1/accounts/trusted-domains', status: 204 },
  capability: 'trusted_domain.delete',
  audit: { action: 'trusted_domain.delete', target: () => ['trusted_domain', ''] },
  input: { query: z.object({ reason: z.string().max(500).nullish() }) },
  output: empty,
  faults: [TrustedDomainNotFound],
});
