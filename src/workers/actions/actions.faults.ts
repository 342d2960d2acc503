import { fault } from '../../platform/faults/faults.ts';

export const NoChannel = fault(
  'worker.no_channel',
  'conflict',
  'The worker has no open channel, so this cannot reach it',
);
export const ActionUnsupported = fault(
  'worker.action_unsupported',
  'conflict',
  'The worker’s version of the protocol does not know this action',
);
