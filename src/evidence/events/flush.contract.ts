import { z } from 'zod';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { TooManyEvents } from './events.faults.ts';

/**
 * How SDK 0.1 sends events (contract.md, evidence; worker-protocol.md §20): a JSON-RPC request with the events of any number of
 * runs. It answers a refusal of the whole by sending the batch again, and then in halves: so what is no request is told in its
 * own terms, and no event is a reason to refuse others.
 */
export const flushEvents = operation({
  id: 'evidence.flush',
  summary: 'Takes events of several runs as a JSON-RPC request: what belongs to no run of the agent is left out.',
  http: { method: 'POST', path: '/api/v1/hooks/events', status: 200 },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('evidence is itself the record'),
  evidence: true,
  bulk: true,
  bodyLimit: 'frame',
  input: { body: z.unknown() },
  output: freeObject(),
  faults: [TooManyEvents],
});
