import { z } from 'zod';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty, stream } from '../../platform/operation/output.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';
import { WorkerIdTaken } from '../registration/registration.contract.ts';

/** A worker opens it in the same moment as it registers, so an id that nobody knows yet is as good as any. */
export const openChannel = operation({
  id: 'workers.channel',
  summary: 'Opens the downlink of a worker: doorbells, cancels and pings, each a frame.',
  http: { method: 'GET', path: '/api/v1/workers/{worker_id}/channel', status: 200 },
  transaction: 'none',
  capability: workerToken,
  input: { path: WorkerPath },
  output: stream('`event: frame`, its data an envelope of the worker protocol; ends without a word'),
  faults: [WorkerIdTaken],
});

export const pong = operation({
  id: 'workers.pong',
  summary: 'Answers a ping of the channel; any replica may hear it.',
  frame: { type: 'pong' },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('a sign of life every few seconds'),
  input: { path: WorkerPath, body: z.object({ nonce: z.string().max(200) }) },
  output: empty,
  faults: [],
});
