import { getCompleteness } from '../../../src/evidence/completeness/completeness.contract.ts';
import { sample } from './sample.ts';

export const readingSamples = [
  sample(getCompleteness, async (tenant) => ({
    path: { run_id: (await tenant.recordedRun(await tenant.agent())).runId },
  })),
];
