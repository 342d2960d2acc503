import { z } from 'zod';
import { operation } from '../../platform/operation/operation.ts';

const AuditEntryView = z
  .object({
    id: z.string(),
    created_at: z.string(),
    category: z.string(),
    action: z.string(),
    operation: z.string().nullable(),
    status: z.string(),
    actor_type: z.string(),
    actor_principal_id: z.string().nullable(),
    impersonator_principal_id: z.string().nullable(),
    detail: z.record(z.string(), z.unknown()),
  })
  .meta({ id: 'AuditEntryView' });

const AuditStatus = z.enum(['success', 'failure']).meta({ id: 'AuditStatus' });
const AuditSortKey = z.enum(['when', 'action', 'actor', 'type', 'status']).meta({ id: 'AuditSortKey' });
const SortOrder = z.enum(['asc', 'desc']).meta({ id: 'SortOrder' });

const text = (max: number) => z.string().max(max).nullish();
const time = z.iso.datetime({ offset: true }).transform((value) => new Date(value));

export const listAudit = operation({
  id: 'audit.list',
  summary: 'Lists what was done, refused and failed in the account, newest first.',
  http: { method: 'GET', path: '/api/v1/audit', status: 200 },
  capability: 'audit.read',
  audit: { action: 'audit.read', target: () => ['audit', ''] },
  input: {
    query: z.object({
      limit: z.coerce.number().int().min(1).max(200).default(100),
      offset: z.coerce.number().int().min(0).max(10_000).default(0),
      category: text(500),
      status: AuditStatus.nullish(),
      q: text(200),
      sort: AuditSortKey.default('when'),
      order: SortOrder.default('desc'),
      actor_principal_id: text(500),
      target: text(500),
      from: time.nullish(),
      to: time.nullish(),
      request_id: text(500),
      cursor: text(500),
      count: z.stringbool({ truthy: ['true'], falsy: ['false'] }).optional(),
    }),
  },
  output: z.array(AuditEntryView),
  faults: [],
});
