import { z } from 'zod';
import { operation, self } from '../../platform/operation/operation.ts';
import { stream } from '../../platform/operation/output.ts';
import { CURSOR } from './cursor.policy.ts';
import { StreamTooMany } from '../stream/stream.contract.ts';

export const streamAccount = operation({
  id: 'runs.stream_account',
  summary: 'Streams what changes in an account: of lists what an object looks like now, of runs their own streams.',
  http: { method: 'GET', path: '/api/v1/stream', status: 200 },
  transaction: 'none',
  capability: self,
  operatorsOnly: true,
  ours: true,
  input: {
    query: z.object({
      topics: z
        .string()
        .max(20_000)
        .meta({ description: 'Names separated by commas: agents, approvals, runs, workers, run:<run_id>.' }),
    }),
    headers: z.object({
      'last-event-id': z.string().regex(CURSOR, 'is not the id of an event of this stream').optional(),
    }),
  },
  output: stream(
    'Each event is named after its topic: `{topic, kind, id, at, view}`. A topic that may not be heard is `error {topic, code}`; the last event is `moved` when this replica goes away.',
  ),
  faults: [StreamTooMany],
});
