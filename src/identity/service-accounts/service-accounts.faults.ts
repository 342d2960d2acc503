import { fault } from '../../platform/faults/faults.ts';

export const ServiceAccountNotFound = fault(
  'service_account.not_found',
  'not_found',
  'There is no such service account',
);
