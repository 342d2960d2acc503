import { z } from 'zod';
import { anyone, operation } from '../operation/operation.ts';
import { html } from '../operation/output.ts';
import { fault } from '../faults/faults.ts';

export const NotReady = fault('server.not_ready', 'unavailable', 'This replica is not ready');

const Check = z.object({ ok: z.boolean(), detail: z.string().nullable() });

export const healthz = operation({
  id: 'platform.healthz',
  summary: 'Says that the process turns; asks nobody else.',
  http: { method: 'GET', path: '/healthz', status: 200 },
  transaction: 'none',
  capability: anyone('a supervisor has no credential'),
  ours: true,
  input: {},
  output: z.object({ status: z.literal('ok') }),
  faults: [],
});

export const readyz = operation({
  id: 'platform.readyz',
  summary: 'Says whether this replica takes work: 503 while it starts or drains, or without its database.',
  http: { method: 'GET', path: '/readyz', status: 200 },
  transaction: 'none',
  capability: anyone('an ingress has no credential'),
  ours: true,
  input: {},
  output: z.object({
    status: z.enum(['ready', 'starting', 'draining', 'degraded']),
    checks: z.object({ database: Check, migrations: Check, auth: Check }),
  }),
  faults: [NotReady],
});

export const openApiDocument = operation({
  id: 'platform.openapi',
  summary: 'Describes exactly the operations that this build serves.',
  http: { method: 'GET', path: '/api/openapi.json', status: 200 },
  transaction: 'none',
  capability: anyone('a client must be able to read the contract before it has a key'),
  ours: true,
  input: {},
  output: z.looseObject({ openapi: z.string() }),
  faults: [],
});

export const docsPage = operation({
  id: 'platform.docs',
  summary: 'Shows the same as a page to read.',
  http: { method: 'GET', path: '/api/docs', status: 200 },
  transaction: 'none',
  capability: anyone('the reference is public'),
  ours: true,
  input: {},
  output: html,
  faults: [],
});
