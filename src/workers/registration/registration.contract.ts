import { z } from 'zod';
import { WrongAgent } from '../../agents/index.ts';
import { fault } from '../../platform/faults/faults.ts';
import { freeObject } from '../../platform/json/json.ts';
import { operation, unaudited, workerToken } from '../../platform/operation/operation.ts';
import { empty } from '../../platform/operation/output.ts';
import { WorkerPath } from '../fleet/fleet.contract.ts';

export const WorkerIdTaken = fault('worker.id_taken', 'refused', 'A worker of another agent has this id');

/** `status` is one of five for the SDK, and anything else makes it register for ever. */
const WorkerState = z.object({
  agent_id: z.string(),
  worker_id: z.string(),
  status: z.literal('online'),
  last_heartbeat_at: z.string(),
});

export const registerWorker = operation({
  id: 'workers.register',
  summary: 'Takes in a worker with the manifest and the skills of its agent.',
  frame: { type: 'register', reply: 'worker_state' },
  transaction: 'none', // a schema is tried before the transaction, which is the service's own
  capability: workerToken,
  audit: unaudited('every process start registers; the service records those that change something, and each refusal'),
  evidence: true, // read leniently: the service refuses what must not be altered
  input: {
    path: WorkerPath,
    body: z.object({
      manifest: freeObject(),
      skills: z.array(freeObject()).nullish(),
      skills_hash: z.string().max(200).nullish(),
      max_concurrent: z.int().min(1).nullish(),
    }),
  },
  output: WorkerState,
  faults: [WrongAgent, WorkerIdTaken],
});

export const heartbeat = operation({
  id: 'workers.heartbeat',
  summary: 'Says that a worker lives, and asks for its state.',
  frame: { type: 'heartbeat', reply: 'worker_state' },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('a sign of life every few seconds'),
  input: { path: WorkerPath, body: z.object({}) },
  output: WorkerState,
  faults: [],
});

export const keepAlive = operation({
  id: 'workers.keep_alive',
  summary: 'Says that a worker lives.',
  frame: { type: 'keep_alive' },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('a sign of life every few seconds'),
  input: { path: WorkerPath, body: z.object({}) },
  output: empty,
  faults: [],
});

export const ping = operation({
  id: 'workers.ping',
  summary: 'Asks whether the control plane hears.',
  frame: { type: 'ping', reply: 'pong' },
  transaction: 'none',
  capability: workerToken,
  audit: unaudited('a sign of life, and nothing changes'),
  input: { path: WorkerPath, body: z.object({ nonce: z.string().max(200), sent_at: z.string().max(100).nullish() }) },
  output: z.object({ nonce: z.string(), ping_sent_at: z.string().optional(), sent_at: z.string() }),
  faults: [],
});

export const reportHealth = operation({
  id: 'workers.health_report',
  summary: 'Answers what a worker was asked about its health.',
  frame: { type: 'health_report' },
  capability: workerToken,
  audit: unaudited('the answer to a question, kept on the worker'),
  input: { path: WorkerPath, body: z.object({ ok: z.boolean(), detail: z.string().nullish() }) },
  output: empty,
  faults: [],
});

export const reportRefusal = operation({
  id: 'workers.error',
  summary: 'Tells that a worker could not take a frame.',
  frame: { type: 'error' },
  capability: workerToken,
  audit: unaudited('kept on the worker'),
  input: { path: WorkerPath, body: z.object({ code: z.string().max(200), message: z.string().nullish() }) },
  output: empty,
  faults: [],
});
