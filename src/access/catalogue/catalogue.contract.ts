import { z } from 'zod';
import { operation, self } from '../../platform/operation/operation.ts';

const CapabilityInfo = z
  .object({ key: z.string(), domain: z.string(), allows: z.string(), sensitivity: z.string() })
  .meta({ id: 'AuthzCapabilityInfo' });

const ResourceType = z
  .object({ key: z.string(), scope: z.string(), notes: z.string() })
  .meta({ id: 'AuthzResourceType' });

export const listCapabilities = operation({
  id: 'access.list_capabilities',
  summary: 'Lists every capability that an operation asks for. It is the same for every account.',
  http: { method: 'GET', path: '/api/v1/authz/capabilities', status: 200 },
  transaction: 'none',
  capability: self,
  input: {},
  output: z.array(CapabilityInfo),
  faults: [],
});

export const listResourceTypes = operation({
  id: 'access.list_resource_types',
  summary: 'Lists what capabilities can be asked about. It is the same for every account.',
  http: { method: 'GET', path: '/api/v1/authz/resource-types', status: 200 },
  transaction: 'none',
  capability: self,
  input: {},
  output: z.array(ResourceType),
  faults: [],
});
