import type { Place } from '../../platform/operation/cursor.ts';
import type { OpContext } from '../../platform/operation/operation.ts';
import type { Outcome } from '../../platform/operation/ports.ts';

export interface EntryRow {
  readonly id: string;
  readonly at: Date;
  /** Microseconds since 1970: exactly where a page ended. */
  readonly micros: string;
  readonly category: string;
  readonly action: string;
  readonly operation: string;
  readonly outcome: Outcome;
  readonly actorKind: string;
  readonly actorId: string | null;
  readonly impersonatorId: string | null;
  readonly targetKind: string;
  readonly targetId: string;
  readonly requestId: string;
  readonly address: string | null;
  readonly detail: Readonly<Record<string, unknown>>;
}

/** Undefined and null: everything. */
export interface EntryFilter {
  readonly category?: string | null | undefined;
  readonly isDone: boolean | undefined;
  readonly q?: string | null | undefined;
  readonly actorId: string | null | undefined;
  readonly targetId: string | null | undefined;
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
  readonly requestId: string | null | undefined;
}

export interface Page {
  readonly sort: SortKey;
  readonly order: 'asc' | 'desc';
  readonly limit: number;
  readonly offset: number;
  readonly after: Place | undefined;
}

export type SortKey = keyof typeof SORTED_BY;

const SORTED_BY = {
  when: 'at',
  action: 'action',
  actor: 'actor_id',
  type: 'actor_kind',
  status: `(outcome = 'done')`,
} as const;

const MICROS = '(extract(epoch FROM at) * 1000000)::bigint::text';
const listText = (sort: SortKey, order: Page['order']): string => `
  SELECT id, at, ${MICROS} AS micros, category, action, operation, outcome, actor_kind AS "actorKind",
         actor_id AS "actorId", impersonator_id AS "impersonatorId", target_kind AS "targetKind",
         target_id AS "targetId", request_id AS "requestId", address, detail
    FROM audit_entry
   WHERE account_id = $1
     AND ($2::text IS NULL OR category = $2)
     AND ($3::boolean IS NULL OR (outcome = 'done') = $3)
     AND ($4::text IS NULL OR strpos(lower(concat_ws(' ', action, operation, actor_kind, actor_id)), lower($4)) > 0)
     AND ($5::text IS NULL OR actor_id = $5)
     AND ($6::text IS NULL OR target_id = $6)
     AND ($7::timestamptz IS NULL OR at >= $7)
     AND ($8::timestamptz IS NULL OR at < $8)
     AND ($9::text IS NULL OR request_id = $9)
     AND ($10::bigint IS NULL
          OR (at, id) ${order === 'asc' ? '>' : '<'} (timestamptz 'epoch' + $10 * interval '1 microsecond', $11::text))
   ORDER BY ${SORTED_BY[sort]} ${order} NULLS LAST${sort === 'when' ? `, id ${order}` : ', at DESC, id DESC'}
   LIMIT $12 OFFSET $13`;

/** The account's entries; one more than the page holds, where there is one. */
export function listEntries(ctx: OpContext, filter: EntryFilter, page: Page): Promise<EntryRow[]> {
  const { category, isDone, q, actorId, targetId, from, to, requestId } = filter;
  const { sort, order, limit, offset, after } = page;
  const filters = [category, isDone, q, actorId, targetId, from, to, requestId].map((value) => value ?? null);
  const values = [ctx.actor.accountId, ...filters, after?.micros ?? null, after?.id ?? null, limit + 1, offset];
  return ctx.sql<EntryRow>(listText(sort, order), values);
}
