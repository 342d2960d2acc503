import { fault } from '../../platform/faults/faults.ts';

export const KeyRotationRunning = fault(
  'vault.rotation_running',
  'conflict',
  'Everything is being sealed with another key already',
);
export const VaultKeyNotWritable = fault(
  'vault.key_not_writable',
  'conflict',
  'The keys come from the environment: add a new one to SIGNALBOX_KEYS of every replica, and ask again',
);
export const VaultKeyNotShared = fault(
  'vault.key_not_shared',
  'conflict',
  'Not every replica that lives knows the new key: give it to all of them first, and ask again',
);
export const KeyRotationNotFound = fault('vault.rotation_not_found', 'not_found', 'There is no such rotation');
