import { z } from 'zod';
import { fault } from '../../platform/faults/faults.ts';
import { operation } from '../../platform/operation/operation.ts';
import { stream } from '../../platform/operation/output.ts';
import { RunId, RunNotFound } from '../../runs/index.ts';

export const StreamTooMany = fault('stream.too_many', 'limited', 'Too many streams are open');

const ON = ['true', '1', 'True'];
const OFF = ['false', '0', 'False'];
/** A switch in a query, in the spellings that public clients send. */
const Switch = z
  .string()
  .optional()
  .refine((value) => value === undefined || ON.includes(value) || OFF.includes(value), 'must be true or false')
  .transform((value) => value === undefined || ON.includes(value));

export const streamRun = operation({
  id: 'runs.stream',
  summary: 'Streams a run: what has happened, then what happens, in one sequence without a seam.',
  http: { method: 'GET', path: '/api/v1/runs/{run_id}/stream', status: 200 },
  transaction: 'none',
  capability: 'run.read',
  ours: true,
  input: {
    path: z.object({ run_id: RunId }),
    query: z.object({
      after: z.coerce.number().int().min(0).default(0),
      types: z.string().max(2_000).optional(),
      follow: Switch.meta({ type: 'boolean', default: true }),
    }),
    headers: z.object({
      'last-event-id': z
        .string()
        .regex(/^\d{1,15}$/, 'must be the number of an event')
        .transform(Number)
        .optional(),
    }),
  },
  output: stream(
    'The events of the run; `id` is their number, the last one is `done`, or `moved` when this replica goes away.',
  ),
  faults: [RunNotFound, StreamTooMany],
});
