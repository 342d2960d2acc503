import { z } from 'zod';
import { operation, self, unaudited } from '../../platform/operation/operation.ts';
import { PrincipalNotFound } from '../principals/principals.faults.ts';

const OWN = 'about oneself by whoever is known; about others it needs the capability principal.read';

export const checkAccess = operation({
  id: 'access.check',
  summary: `Says whether a principal may do something, and why: what enforcement would say. Asked ${OWN}.`,
  http: { method: 'POST', path: '/api/v1/authz/access/check', status: 200 },
  capability: self,
  audit: unaudited('it is a question'),
  input: {
    body: z
      .object({
        principal_id: z.string().max(500),
        capability: z.string().max(500),
        resource_type: z.string().max(500),
        /** An id or a handle; `*`: every object of the type. */
        resource_id: z.string().max(1_000),
      })
      .meta({ id: 'AccessCheckBody' }),
  },
  output: z
    .object({ allowed: z.boolean(), reason: z.string(), matched_grant_id: z.string().nullish() })
    .meta({ id: 'AuthzAccessCheckResult' }),
  faults: [],
});

export const effectiveAccess = operation({
  id: 'access.effective_access',
  summary: `Lists what a principal holds, a line for each capability and scope. Asked ${OWN}.`,
  http: { method: 'GET', path: '/api/v1/authz/principals/{principal_id}/effective-access', status: 200 },
  capability: self,
  input: { path: z.object({ principal_id: z.string() }) },
  output: z.array(
    z
      .object({
        capability: z.string(),
        resource_type: z.string(),
        resource_id: z.string(),
        resource_label: z.string().nullish(),
        /** `role`, `grant` or `builtin`. */
        source: z.string(),
        /** The name of the role or policy. */
        via: z.string(),
        /** Of a role that is held for the whole account the role's id. */
        grant_id: z.string(),
      })
      .meta({ id: 'AuthzEffectiveCapability' }),
  ),
  faults: [PrincipalNotFound],
});
