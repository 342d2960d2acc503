import { fault } from '../../platform/faults/faults.ts';

export const RunNotFound = fault('run.not_found', 'not_found', 'There is no such run');
