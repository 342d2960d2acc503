import { fault } from '../../platform/faults/faults.ts';

export const ApiKeyNotFound = fault('api_key.not_found', 'not_found', 'There is no such API key');
export const ApiKeyNotRecoverable = fault(
  'api_key.not_recoverable',
  'gone',
  'This key can no longer be shown: only its hash is kept',
);
