import { fault } from '../../platform/faults/faults.ts';

export const WorkerConfigChanged = fault(
  'worker_config.changed',
  'conflict',
  'Another configuration is in force: read it and decide again',
);
