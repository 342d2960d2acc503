import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';

export const requestConfig = operation({
  id: 'workers.config',
  summary: 'Asks for the configuration of the agent’s workers.',
  frame: { type: 'config_request', reply: 'config_bundle' },
  capability: workerToken,
  audit: unaudited('what it is handed is on record where it was set, and kept on the worker'),
  input: { path: WorkerPath, body: z.object({}) },
  output: z.object({
    config: z.object({
      version: z.string(),
      skills_version: z.string().optional(),
      ops: z.array(freeObject()).optional(),
      action_rules_version: z.string().optional(),
      action_rules: freeObject().optional(),
    }),
  }),
  faults: [],
});

export const acknowledgeConfig = operation({
  id: 'workers.config_ack',
  summary: 'Tells which configuration a worker runs, and what of it it does not know.',
  frame: { type: 'config_ack' },
  capability: workerToken,
  audit: unaudited('kept on the worker'),
  input: {
    path: WorkerPath,
    body: z.object({
      version: z.string().max(500),
      unsupported_ops: z.array(z.string().max(500)).max(1_000).nullish(),
    }),
  },
  output: empty,
  faults: [],
});
