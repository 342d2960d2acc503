import { fault } from '../../platform/faults/faults.ts';

export const RunNotReplayable = fault('run.not_replayable', 'conflict', 'There is nothing to replay of this run');
