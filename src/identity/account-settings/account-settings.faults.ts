import { fault } from '../../platform/faults/faults.ts';

export const AccountSettingsChanged = fault(
  'account_settings.changed',
  'conflict',
  'Another version of the settings is in force: read them and decide again',
);
