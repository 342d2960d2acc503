import { fault } from '../../platform/faults/faults.ts';

export const TrustedDomainExists = fault(
  'trusted_domain.exists',
  'conflict',
  'This account trusts your domain already',
);
export const TrustedDomainNotFound = fault(
  'trusted_domain.not_found',
  'not_found',
  'This account does not trust your domain',
);
