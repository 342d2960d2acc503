import { z } from 'zod';
import { AgentName } from '../../identity/index.ts';
import { operation } from '../../platform/operation/operation.ts';
import { ContentWithheld, ListTooSlow } from '../../runs/index.ts';

const When = z.iso.datetime({ offset: true });

/** A place where it was said. In `excerpt` U+E000 stands before a word that was looked for, and U+E001 behind it. */
const EvidenceHit = z
  .object({
    run_id: z.string(),
    agent_id: z.string(),
    seq: z.int(),
    kind: z.string(),
    at: z.string(),
    span_id: z.string().nullable(),
    excerpt: z.string(),
  })
  .meta({ id: 'EvidenceHit' });

export const searchEvidence = operation({
  id: 'evidence.search',
  summary:
    'Finds where words were said in the runs of the account, the newest first; without a range, in the last 30 days.',
  http: { method: 'GET', path: '/api/v1/evidence/search', status: 200 },
  capability: 'run.read',
  audit: { action: 'evidence.search', target: () => ['account', ''] },
  ours: true,
  input: {
    query: z.object({
      q: z.string().min(2).max(200),
      agent_id: AgentName.optional(),
      kind: z.string().min(1).max(200).optional(),
      from: When.optional(),
      to: When.optional(),
      limit: z.coerce.number().int().min(1).max(200).default(100),
      cursor: z.string().max(1_000).optional(),
    }),
  },
  output: z.array(EvidenceHit),
  faults: [ContentWithheld, ListTooSlow],
});
