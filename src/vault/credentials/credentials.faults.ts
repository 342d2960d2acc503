import { fault } from '../../platform/faults/faults.ts';

export const CredentialNotFound = fault('credential.not_found', 'not_found', 'There is no such credential');
export const CredentialNameTaken = fault(
  'credential.name_taken',
  'conflict',
  'There is a credential of that name already',
);
